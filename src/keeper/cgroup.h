/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups v1 and v2 behind one face: find a site, make a cell's group, read it, remove it. */
#pragma once

#include "jail/jail.h"

/* One hierarchy of the site. v2 is a site with one. */
struct cgroup_place {
	unsigned int controllers; /* bit per enum cgroup_controller */
	int parent_fd;            /* owned */
	char mount_point[64];     /* where the janitor may have to search */
	bool is_passed_over;      /* cells do not join it */
};

enum cgroup_controller {
	CGROUP_MEMORY = 0,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_CONTROLLER_COUNT,
};

/* Where cells' groups can be made on this machine. */
struct cgroup_site {
	enum cgroup_kind kind;
	struct cgroup_place places[CGROUP_FDS_MAX];
	size_t place_count;
	char why[192]; /* when kind is none */
};

/* Without `has_cpus` a v1 hierarchy that only shares out CPUs is passed over: joining one more
 * costs a cell more than it gains. */
void cgroup_find(struct cgroup_site *site, bool has_cpus);

/* A quick look: whether this machine has v2 where everyone mounts it. */
bool cgroup_is_v2(void);
void cgroup_site_done(struct cgroup_site *site);

/* The files of a group that every run is told from. */
enum cgroup_gauge {
	GAUGE_CPU = 0,
	GAUGE_MEMORY_PEAK,
	GAUGE_PIDS_PEAK,
	CGROUP_GAUGE_COUNT,
};

/* The files of a v1 group that tell whether it is empty, and those that are set back. */
enum cgroup_rest {
	REST_PIDS = 0,
	REST_MEMORY_PEAK,
	REST_CPU,
	CGROUP_REST_COUNT,
};

struct cgroup_limits {
	int64_t memory, pids, cpus_milli;
	int64_t inits; /* that are in there beside the cell's own processes: 1 or 0 */
};

struct cgroup {
	const struct cgroup_site *site;
	char name[32];
	int dir_fds[CGROUP_FDS_MAX]; /* owned */
	size_t made_count;           /* directories there are, opened or not */
	int oom_fd;                  /* owned; v1: an eventfd that fires when memory ran out */
	int gauge_fds[CGROUP_GAUGE_COUNT]; /* owned; -1: opened when it is read */
	int entry_fds[CGROUP_FDS_MAX];     /* owned; v1: `tasks` of each; -1: not opened yet */
	int rest_fds[CGROUP_REST_COUNT];   /* owned; -1: it did not rest yet */
	struct cgroup_limits limits;       /* once they are set */
};

/* One without any directory. */
void cgroup_init(struct cgroup *group, const struct cgroup_site *site);

/* Makes an empty group without limits, and sets them: two steps, for the first takes long and can
 * be done before anyone knows the second. */
int cgroup_make(struct cgroup *group, const struct cgroup_site *site, int slot, struct err *err);
int cgroup_limit(struct cgroup *group, const struct cgroup_limits *limits, struct err *err);

/* The descriptors a cell needs to get in: see enum cell_fd. They are borrowed, until it is said
 * that all are in: then they are kept for another cell where there is room for it. */
int cgroup_entry_fds(
	struct cgroup *group, int fds[CGROUP_FDS_MAX], size_t *ret_count, struct err *err);
void cgroup_all_in(struct cgroup *group);

/* Opens what will be read: who does so while nobody waits spares 3 µs for each later. */
void cgroup_open_gauges(struct cgroup *group);

struct cgroup_usage {
	int64_t memory_peak; /* bytes; -1: not known */
	int64_t cpu_us;
	int64_t pids_peak;
	int64_t oom_kills;
	int64_t pids_refused;
};

/* Where these limits did not even come near, nothing was refused or killed, and that is not looked
 * for. NULL: everything is. */
void cgroup_read(
	const struct cgroup *group, const struct cgroup_limits *limits, struct cgroup_usage *usage);
void cgroup_reset_peak(const struct cgroup *group); /* of memory, where that can be had */
int64_t cgroup_cpu_us(const struct cgroup *group);
int64_t cgroup_memory(const struct cgroup *group); /* now, in bytes; -1: not known */
int64_t cgroup_pids(const struct cgroup *group);   /* now; -1: not known */
int64_t cgroup_pids_peak(const struct cgroup *group);

/* The list of its processes. The descriptor is the caller's; -1: it cannot be opened. */
int cgroup_open_procs(const struct cgroup *group);

/* Whether its groups may serve another cell with the same limits once they have rested: nothing
 * that they count and that cannot be set back is other than in every cell. */
bool cgroup_may_rest(struct cgroup *group);

/* Whether by now they are like new ones: nobody is in them, their counts are set back, and nothing
 * is charged to them any more but a page for small things. The kernel takes some milliseconds. */
bool cgroup_refresh(struct cgroup *group);

/* The cell is dead: removes its groups. */
void cgroup_remove(struct cgroup *group);

/* The groups are somebody else's to remove. */
void cgroup_let_go(struct cgroup *group);

/* Removes groups whose slot nobody holds. */
void cgroup_sweep(const struct cgroup_site *site);
