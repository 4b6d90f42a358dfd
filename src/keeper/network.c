/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/network.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"

enum {
	DEPTH_MAX = 2,
	PART_MIN = 2048, /* what is shorter is the last; a page ends where the next line does not
			    fit */
	RARELY = 16,     /* of so many looks one is at everything */
};

/* A file of the kernel's, and what it said at first. */
struct view {
	int fd;                    /* owned */
	struct network_text *text; /* owned; NULL: what it said in the first network, too */
};

struct network {
	struct network *next;
	int fd; /* owned */
	unsigned int uses;
	size_t view_count;
	struct view views[]; /* as many as there are names */
};

/* Files that are not watched: each that is open costs the kernel 5 kB. Any other is, also one that
 * no kernel of today has. */
/* clang-format off */
static const char *const passed_over[] = {
	/* the machine's: the same in all networks, and never the same twice */
	"softnet_stat", "rt_acct", "stat/rt_cache",
	/* living sockets, of which sockstat and sockstat6 tell the number. To look for those of one
	 * network the kernel goes through those of all, which takes up to 0.7 ms */
	"tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6", "packet",
	"netlink", "protocols",
	/* living connections, whose number is in stat/nf_conntrack */
	"nf_conntrack", "nf_conntrack_expect", "stat/synproxy",
	/* what is in snmp6, for each device */
	"dev_snmp6/lo",
	/* what is in igmp and igmp6, in other words */
	"mcfilter", "mcfilter6", "anycast6", "dev_mcast",
	/* what is in route and ipv6_route, in other words */
	"fib_trie", "rt_cache",
	/* what only an administrator of the network, or the machine's, can change */
	"arp_tables_matches", "arp_tables_names", "arp_tables_targets",
	"ip_tables_matches", "ip_tables_names", "ip_tables_targets",
	"ip6_tables_matches", "ip6_tables_names", "ip6_tables_targets",
	"ip_mr_cache", "ip_mr_vif", "ip6_mr_cache", "ip6_mr_vif",
	"netfilter/nf_log", "netfilter/nfnetlink_log", "netfilter/nfnetlink_queue", "psched", "ptype",
};
/* clang-format on */

/* What only packets, internet sockets or an administrator of the network change. A cell without
 * network has none of them: its filter refuses such sockets, and a packet would be seen in "dev".
 * Living sockets of the machine are in "unix", and counted in sockstat too. All these take ten
 * times as long to read as the rest, so they are looked at now and then, to see whether that is
 * still true. */
/* clang-format off */
static const char *const seldom_read[] = {
	"netstat", "snmp", "snmp6", "xfrm_stat", "stat/nf_conntrack", "ip6_flowlabel",
	"igmp", "igmp6", "arp", "if_inet6", "route", "ipv6_route", "fib_triestat", "rt6_stats",
	"sockstat6", "unix",
};
/* clang-format on */

static bool is_one_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* ---- what there is to look at ------------------------------------------------------------------
 */

static int add_name(struct networks *networks, const char *name)
{
	if (is_one_of(passed_over, COUNT_OF(passed_over), name))
		return 0;
	if (networks->name_count == NETWORK_FILES)
		return -E2BIG;
	networks->is_seldom_read[networks->name_count] =
		is_one_of(seldom_read, COUNT_OF(seldom_read), name);
	networks->names[networks->name_count++] = xstrdup(name);
	return 0;
}

/* Takes dir_fd. */
static int list_names(struct networks *networks, int dir_fd, const char *prefix, int depth)
{
	auto_dir DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		(void)close(dir_fd);
		return -EBADF;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_free char *name = xasprintf("%s%s", prefix, entry->d_name);
		int r = 0;
		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type == DT_DIR) {
			auto_free char *beneath = xasprintf("%s/", name);
			int fd = openat(
				dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			r = fd < 0 || depth == 0 ? -ELOOP
						 : list_names(networks, fd, beneath, depth - 1);
		} else if (faccessat(dirfd(dir), entry->d_name, R_OK, AT_EACCESS) == 0) {
			/* what is closed to us is closed to a cell: its user is nobody or ours */
			r = add_name(networks, name);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static void forget_names(struct networks *networks)
{
	while (networks->name_count > 0) {
		free(networks->names[--networks->name_count]);
		free(networks->first[networks->name_count].bytes);
	}
}

static void look_for_names(struct networks *networks, int dir_fd)
{
	if (networks->has_looked)
		return;
	networks->has_looked = true;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || list_names(networks, fd, "", DEPTH_MAX) < 0)
		forget_names(networks);
}

/* ---- looking -----------------------------------------------------------------------------------
 */

/* Of these numbers in sockstat the kernel has one for all networks together. */
static void leave_out_machine(char *text, size_t *len)
{
	static const char *const words[] = { " orphan ", " alloc ", " mem " };
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		for (char *at = strstr(text, words[i]); at; at = strstr(at, words[i])) {
			at += strlen(words[i]);
			size_t digits = strspn(at, "0123456789");
			memmove(at, at + digits, strlen(at + digits) + 1);
		}
	}
	*len = strlen(text);
}

/* All of it, also where the kernel tells it in parts, which are a page long but for the last;
 * NUL-terminated. */
static int read_view(int fd, const char *name, char *text, size_t size, size_t *ret_len)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = pread(fd, text + len, size - 1 - len, (off_t)len);
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (n < PART_MIN)
			break;
		if (len == size - 1)
			return -EFBIG;
	}
	text[len] = '\0';
	if (strcmp(name, "sockstat") == 0)
		leave_out_machine(text, &len);
	*ret_len = len;
	return 0;
}

static void free_network(struct networks *networks, struct network *network)
{
	for (size_t i = 0; i < network->view_count; i++) {
		own_close(&network->views[i].fd);
		if (network->views[i].text)
			free(network->views[i].text->bytes);
		free(network->views[i].text);
	}
	own_close(&network->fd);
	free(network);
	networks->count--;
}

static bool is_same(const struct network_text *text, const char *bytes, size_t len)
{
	return text->bytes && text->len == len && memcmp(text->bytes, bytes, len) == 0;
}

static void keep_text(struct network_text *text, const char *bytes, size_t len)
{
	text->bytes = xrealloc(NULL, len + 1, 1);
	memcpy(text->bytes, bytes, len + 1);
	text->len = len;
}

static int open_views(struct networks *networks, struct network *network, int dir_fd)
{
	char bytes[NETWORK_TEXT];
	size_t len = 0;
	for (size_t i = 0; i < networks->name_count; i++) {
		struct network_text *first = &networks->first[i];
		struct view *view = &network->views[network->view_count++];
		*view = (struct view){ .fd = openat(
					       dir_fd, networks->names[i], O_RDONLY | O_CLOEXEC) };
		if (view->fd < 0)
			return -errno;
		int r = read_view(view->fd, networks->names[i], bytes, sizeof(bytes), &len);
		if (r < 0)
			return r;
		if (!first->bytes)
			keep_text(first, bytes, len);
		if (is_same(first, bytes, len))
			continue;
		view->text = xcalloc(1, sizeof(*view->text));
		keep_text(view->text, bytes, len);
	}
	return 0;
}

static bool is_as_it_was(const struct networks *networks, const struct network *network)
{
	char bytes[NETWORK_TEXT];
	size_t len = 0;
	bool is_thorough = network->uses % RARELY == 0;
	for (size_t i = 0; i < network->view_count; i++) {
		const struct view *view = &network->views[i];
		if (networks->is_seldom_read[i] && !is_thorough)
			continue;
		if (read_view(view->fd, networks->names[i], bytes, sizeof(bytes), &len) < 0 ||
			!is_same(view->text ? view->text : &networks->first[i], bytes, len))
			return false;
	}
	return true;
}

static bool is_alive(int pidfd)
{
	struct pollfd death = { .fd = pidfd, .events = POLLIN };
	return poll(&death, 1, 0) == 0;
}

struct network *networks_watch(struct networks *networks, int network_fd, pid_t pid, int pidfd)
{
	char path[64];
	auto_fd int fd = network_fd;
	bool is_hopeless = networks->changed_in_row >= NETWORKS_CHANGED;
	if (fd < 0 || !networks->is_allowed || is_hopeless || networks->count >= NETWORKS_MAX ||
		!io_has_room(fd, NETWORK_FILES))
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/%d/net", (int)pid);
	auto_fd int dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return NULL;
	look_for_names(networks, dir_fd);
	if (networks->name_count == 0)
		return NULL;
	struct network *network =
		xcalloc(1, sizeof(*network) + networks->name_count * sizeof(network->views[0]));
	network->fd = take_fd(&fd);
	networks->count++;
	/* as long as it lives, the number is its own and not another process's */
	if (open_views(networks, network, dir_fd) < 0 || !is_alive(pidfd)) {
		free_network(networks, network);
		return NULL;
	}
	return network;
}

/* ---- the shelf ---------------------------------------------------------------------------------
 */

static struct network *pop(struct networks *networks)
{
	struct network *network = networks->idle;
	if (network) {
		networks->idle = network->next;
		networks->idle_count--;
	}
	return network;
}

/* Looked at now and not when it came back: nobody waits for it now. */
struct network *networks_take(struct networks *networks)
{
	struct network *network = NULL;
	while ((network = pop(networks)) && !is_as_it_was(networks, network)) {
		networks->changed_in_row++;
		free_network(networks, network);
	}
	if (network)
		networks->changed_in_row = 0;
	return network;
}

int network_fd(const struct network *network)
{
	return network->fd;
}

void networks_give(struct networks *networks, struct network *network, bool is_empty)
{
	if (!network)
		return;
	if (!is_empty || !networks->is_allowed || ++network->uses >= NETWORK_USES ||
		networks->idle_count >= NETWORKS_IDLE) {
		free_network(networks, network);
		return;
	}
	network->next = networks->idle;
	networks->idle = network;
	networks->idle_count++;
}

void networks_shrink(struct networks *networks)
{
	if (networks->idle_count > NETWORKS_QUIET)
		free_network(networks, pop(networks));
}

void networks_allow(struct networks *networks, bool is_allowed)
{
	networks->is_allowed = is_allowed;
	while (!is_allowed && networks->idle)
		free_network(networks, pop(networks));
}

void networks_done(struct networks *networks)
{
	networks_allow(networks, false);
	forget_names(networks);
}
