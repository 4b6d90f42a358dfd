/* SPDX-License-Identifier: Apache-2.0 */
/* Every size, count and depth that an outsider controls has its bound here. */
#pragma once

enum {
	LIMIT_ARGS = 4096,           /* arguments of one program */
	LIMIT_ENV = 1024,            /* environment variables of one cell */
	LIMIT_JOB_BYTES = 4 << 20,   /* argv and environment together */
	LIMIT_STRING = 1 << 20,      /* one argument, variable or path */
	LIMIT_CODE_BYTES = 16 << 20, /* code handed over as text */
	LIMIT_SPEC_BYTES = 24 << 20, /* one spec as JSON */
	LIMIT_SPEC_DEPTH = 8,
	LIMIT_NAMES = 64,                /* layers in --require and --without, each */
	LIMIT_MOUNTS = 32,               /* --ro and --rw together */
	LIMIT_COMMANDS = 64,             /* programs in --commands */
	LIMIT_MODULE_NAME = 128,         /* bytes of a module that the guard is told of */
	LIMIT_COMMAND_NAME = 64,         /* bytes of the name of one */
	LIMIT_FILES = 256,               /* --file and --out, each */
	LIMIT_TREE_DEPTH = 64,           /* directories walked when copying in or out */
	LIMIT_BATCH_JOBS = 100000,       /* jobs in the body of one batch */
	LIMIT_UPLOAD_BYTES = 1 << 30,    /* one file put into a session */
	LIMIT_LISTED_FILES = 1000,       /* files of a session that are named */
	LIMIT_RESOURCE_BYTES = 4 << 20,  /* a file of a session that is told as text */
	LIMIT_TREE_FILES = 10000,        /* files copied in or out by one run */
	LIMIT_SNAPSHOT_ENTRIES = 100000, /* of /home/user when a point is made */
	LIMIT_DENIALS = 32,              /* distinct denials in one result */
	LIMIT_DENIED_CALLS = 256,        /* denied calls watched before the watcher leaves */
	LIMIT_WARNINGS = 16,
	LIMIT_OUTPUTS = 256,             /* rich values in one result */
	LIMIT_OUTPUT_BYTES = 16 << 20,   /* of all of them together */
	LIMIT_FRAME_BYTES = 8 << 20,     /* one message of a runner */
	LIMIT_FRAME_DEPTH = 32,          /* levels of JSON in it */
	LIMIT_TRACE = 64,                /* frames of one trace */
	LIMIT_FINDINGS = 256,            /* of the guard, about one program */
	LIMIT_CONTEXT = 16,              /* lines of context */
	LIMIT_BUILD_BYTES = 1 << 30,     /* what a compiler makes */
	LIMIT_KEPT_BUILDS = 1000,        /* builds kept for the next run of their code */
	LIMIT_KEPT_BYTES = 512 << 20,    /* of all of them together */
	LIMIT_AUDIT_LINE = 16 << 10,     /* one record of the audit log */
	LIMIT_AUDIT_FILES = 4096,        /* files of the log that are looked at */
	LIMIT_KEPT_CODE = 1 << 20,       /* code in an artifact */
	LIMIT_KEPT_STREAM = 256 << 10,   /* each stream in it */
	LIMIT_KEPT_OUTPUTS = 4 << 20,    /* rich values in it, together */
	LIMIT_ARTIFACT_BYTES = 32 << 20, /* one artifact as JSON */
	LIMIT_ARTIFACT_DEPTH = 40,
	LIMIT_ARTIFACTS = 20000,         /* that are kept */
	LIMIT_LANGUAGE_BYTES = 64 << 10, /* one language definition */
	LIMIT_BOOK_BYTES = 256 << 10,    /* what is known about one language's errors */
	LIMIT_LOANS = 4096,              /* cells a daemon lends at once */
	LIMIT_PARKED = 4000,             /* cells that stand ready */
	LIMIT_QUEUE = 4096,              /* clients who wait for one */
	LIMIT_CONFIG_BYTES = 64 << 10,   /* one settings file */
	LIMIT_CONFIG_DEPTH = 6,          /* levels of maps and lists in it */
	LIMIT_CONFIG_NODES = 4096,       /* keys, lists and texts in it */
	LIMIT_SESSIONS = 3000,           /* sessions held at once */
};
