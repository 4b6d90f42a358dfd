# SPDX-License-Identifier: Apache-2.0
"""Behaviours 72-76: network. 77-83 belong to the proxy, see LATER.md."""
import secrets
import socket
import time

from harness import Case, Want, honest, judge, program

LOOPBACK = ("--net", "loopback")
ADDRESSES = ("1.1.1.1", "127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1", "172.17.0.1",
             "255.255.255.255", "0.0.0.0", "::1", "2606:4700:4700::1111", "fe80::1", "udp")
FAMILIES = ("vsock", "alg", "packet", "key", "rxrpc", "xdp", "tipc", "smc", "bluetooth", "can",
            "qipcrtr", "kcm", "rds", "pppox", "family-1000")
PROTOCOLS = ("sctp", "mptcp", "dccp", "raw", "raw6", "ping", "udplite", "packet-type")
NETLINKS = ("xfrm", "netfilter", "audit", "crypto", "uevent", "generic")

NO_SOCKETS = {
    **dict.fromkeys(FAMILIES, "EAFNOSUPPORT"),
    **dict.fromkeys(PROTOCOLS, ("EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EPERM", "ENETUNREACH")),
    **{f"netlink-{name}": ("EPROTONOSUPPORT", "EAFNOSUPPORT", "EPERM") for name in NETLINKS},
}


def network_is_named(run, _bench):
    denials = [d for d in run.result["denials"] if d["layer"] == "network"]
    if not any("AF_INET" in (d["target"] or "") for d in denials):
        return [f"no denial names AF_INET: {denials}"]
    if not any("--net" in (d["option"] or "") for d in denials):
        return [f"no denial names an option: {denials}"]
    return []


def loopbacks_are_private(bench):
    """Two cells on the same port at the same time, with the host on it as well."""
    with socket.socket() as host:
        host.bind(("127.0.0.1", 0))
        host.listen(1)
        port = host.getsockname()[1]
        first = bench.start(honest("loopback", port, 1500), (*LOOPBACK, "-t", "10"))
        time.sleep(0.5)
        problems = bench.expect(Want(says="fine"), honest("loopback", port), LOOPBACK)
        run = first.finish()
        bench.runs.append(run)
        problems += judge(run, Want(says="fine"), bench)
        # The host's own listener was never reached, nor is it from a cell that only connects.
        problems += bench.expect(
            Want(lines={"127.0.0.1": ("ECONNREFUSED", "EINPROGRESS"),
                        "1.1.1.1": ("ENETUNREACH", "EINPROGRESS")}),
            program("netabuse", "connect", port), LOOPBACK)
        host.setblocking(False)
        try:
            host.accept()
            problems.append("a cell reached the host's listener")
        except BlockingIOError:
            pass
    return problems


def cells_listener_is_invisible(bench):
    port = 38471
    started = bench.start(program("netabuse", "listen", port, 1500), (*LOOPBACK, "-t", "10"))
    time.sleep(0.5)
    problems = []
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            problems.append("the host reached the cell's listener")
    run = started.finish()
    bench.runs.append(run)
    return problems + judge(run, Want(lines={"bind": "ok", "listen": "ok"}), bench)


def abstract_sockets_are_private(bench):
    problems = []
    for options in ((), LOOPBACK):
        name = "hostile-" + secrets.token_hex(8)
        with socket.socket(socket.AF_UNIX) as host:
            host.bind("\0" + name)
            host.listen(1)
            problems += bench.expect(Want(lines={"connect": ("ECONNREFUSED", "EPERM")}),
                                     program("netabuse", "abstract", "connect", name), options)
        first = bench.start(program("netabuse", "abstract", "bind", name + "-cell", 1500), options)
        time.sleep(0.5)
        connect = program("netabuse", "abstract", "connect", name + "-cell")
        problems += bench.expect(Want(lines={"connect": ("ECONNREFUSED", "EPERM")}), connect,
                                 options)
        run = first.finish()
        bench.runs.append(run)
        problems += judge(run, Want(lines={"bind": ("ok", "EPERM")}), bench)
    return problems + bench.expect(Want(says="fine"), honest("unix"))


CASES = [
    Case("72", "no address can be reached", program("netabuse", "connect"),
         Want(lines=dict.fromkeys(ADDRESSES, "ENETUNREACH"), also=network_is_named,
              denials=(("network", "socket"),)),
         (), honest("unix")),
    Case("72.loopback", "a loopback leads nowhere else", program("netabuse", "connect", 80),
         Want(lines={**dict.fromkeys(("1.1.1.1", "169.254.169.254", "10.0.0.1", "192.168.0.1",
                                      "172.17.0.1", "2606:4700:4700::1111", "udp"),
                                     ("ENETUNREACH", "EADDRNOTAVAIL")),
                     "fe80::1": ("ENETUNREACH", "EINVAL", "EADDRNOTAVAIL"),
                     "127.0.0.1": ("ECONNREFUSED", "EINPROGRESS"),
                     "::1": ("ECONNREFUSED", "EINPROGRESS", "EADDRNOTAVAIL")}),
         LOOPBACK, honest("loopback")),
    Case("73", "nobody listens without a network", program("netabuse", "listen"),
         Want(lines={"socket": "ENETUNREACH"}, denials=(("network", "socket"),)),
         (), honest("unix")),
    Case("73.loopback", "loopbacks are private", loopbacks_are_private),
    Case("73.host", "the host does not see a cell's listener", cells_listener_is_invisible),
    Case("74", "abstract sockets are private", abstract_sockets_are_private),
    Case("75", "exotic socket families are refused", program("netabuse", "families"),
         Want(lines=NO_SOCKETS), (), honest("unix")),
    Case("75.loopback", "exotic socket families are refused beside a loopback",
         program("netabuse", "families"), Want(lines=NO_SOCKETS), LOOPBACK, honest("loopback")),
    Case("76", "interfaces can be listed, not changed", program("netabuse", "routes"),
         Want(lines={"socket": "ok", "dump": "ok", "link": "ok", "new-link": "EPERM"}),
         LOOPBACK, honest("loopback")),
    Case("76.none", "interfaces can be listed without a network", program("netabuse", "routes"),
         Want(lines={"socket": "ok", "dump": "ok", "link": "ok", "new-link": "EPERM"}),
         (), honest("unix")),
    Case("76.ulp", "no protocol modules through TCP_ULP", program("netabuse", "tcp-ulp"),
         Want(lines={"tcp-ulp": "EPERM", "nodelay": "ok"}), LOOPBACK, honest("loopback")),
]
