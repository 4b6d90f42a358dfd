# SPDX-License-Identifier: Apache-2.0
"""The report, and the table made from it: ratios first."""
import statistics

import crowds

STEADY_LEAST, STEADY_BAR = 40, 1.25


def judge(what, value, limit, is_least=False):
    holds = value >= limit if is_least else value <= limit
    return {"what": what, "value": value, "limit": limit, "is_least": is_least, "holds": holds}


def short(value):
    """Three digits that say something, whatever the size."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio_of(found, name, against, quantile="p50", base="p50"):
    one, other = found.get(name), found.get(against)
    if not one or not other or not one.samples or not other.samples:
        return None
    return one.value(quantile) / other.value(base)


def bars_of(row, found):
    bars = []
    for bar in row.bars:
        against = bar.against or row.against
        ratio = ratio_of(found, row.name, against, bar.quantile)
        if ratio is not None and bar.is_difference:
            more = found[row.name].value(bar.quantile) - found[against].value("p50")
            bars.append(judge(f"{row.name}, {bar.quantile}, µs more than {against}", more, bar.limit))
        elif ratio is not None:
            bars.append(judge(f"{row.name}, {bar.quantile}, to {against}", ratio, bar.limit))
    if row.is_steady and found.get(row.name) and len(found[row.name].samples) >= STEADY_LEAST:
        bars.append(judge(f"{row.name}, the last quarter to the first",
                          growth(found[row.name].samples), STEADY_BAR))
    return bars


def growth(samples):
    quarter = len(samples) // 4
    return statistics.median(samples[-quarter:]) / statistics.median(samples[:quarter])


def describe(rows, found):
    """The contenders as they are told in JSON."""
    told = []
    for row in rows:
        measured = found.get(row.name)
        one = {"name": row.name, "group": row.group, "title": row.title, "against": row.against}
        if not measured or not measured.samples:
            failure = measured.failure if measured else "it said nothing"
            told.append(one | {"failure": failure or "no sample"})
            continue
        one |= {"ratio": ratio_of(found, row.name, row.against),
                "calm_ratio": ratio_of(found, row.name, row.against, "p25", "p25")}
        told.append(one | measured.summary() | {"bars": bars_of(row, found)})
    return told


def crowd_bars(report):
    bars = []
    for row in report.get("throughput", []):
        least = crowds.THROUGHPUT_BARS.get(row["outstanding"])
        if least and "ratio" in row:
            bars.append(judge(f"throughput, {row['outstanding']} outstanding, to python3 -c pass",
                              row["ratio"], least, is_least=True))
        least = crowds.HTTP_BARS.get(row["outstanding"])
        if least and "http_ratio" in row:
            bars.append(judge(f"throughput over HTTP, {row['outstanding']} outstanding, to the socket",
                              row["http_ratio"], least, is_least=True))
    for name, most in crowds.PRIVATE_BARS.items():
        weight = report.get("memory", {}).get(name, {})
        if "private_kb" in weight:
            bars.append(judge(f"private kB of a parked cell, {name}", weight["private_kb"], most))
    if "private_kb" in report.get("points", {}):
        bars.append(judge("private kB of a point", report["points"]["private_kb"],
                          crowds.POINT_BAR))
    if "parked" in report:
        bars.append(judge("cells parked at once", report["parked"]["reached"],
                          report["parked"]["wanted"], is_least=True))
    return bars


def all_bars(report):
    return [bar for row in report.get("contenders", []) for bar in row.get("bars", [])] + \
        crowd_bars(report)


def verdict(bars):
    words = []
    for bar in bars:
        sign = "at least" if bar["is_least"] else "at most"
        words.append(f"{'holds' if bar['holds'] else 'MISSED'}: {short(bar['value'])}, {sign} "
                     f"{short(bar['limit'])}")
    return "; ".join(words)


# ---- lines ---------------------------------------------------------------------------------------


def contender_lines(told):
    yield (f"{'ratio':>7} {'calm':>7} {'p50 µs':>8} {'p95':>8} {'p99':>8} {'min':>8} {'n':>4} "
           f"{'warm':>5}  what")
    group = None
    for row in told:
        if row["group"] != group:
            group = row["group"]
            yield f"{group}, ratios to '{row['against'].partition(': ')[2]}'"
            against = row["against"]
        if "failure" in row:
            yield f"{'-':>7} {'-':>7} {'-':>8} {'-':>8} {'-':>8} {'-':>8} {'-':>4} {'-':>5}  " \
                  f"{row['title']}: failed: {row['failure']}"
            continue
        warm = f"{100 * row['warm'] // row['samples']}%" if row["warm"] else ""
        other = "" if row["against"] == against else f" (to '{row['against'].partition(': ')[2]}')"
        line = (f"{short(row['ratio']):>7} {short(row['calm_ratio']):>7} {row['p50_us']:>8} "
                f"{row['p95_us']:>8} {row['p99_us']:>8} {row['min_us']:>8} {row['samples']:>4} "
                f"{warm:>5}  {row['title']}{other}")
        yield f"{line:<110} {verdict(row['bars'])}".rstrip()


def throughput_lines(told, bars):
    yield (f"{'ratio':>7} {'cells/s':>8} {'bare/s':>8} {'http/s':>8} {'of it':>7} {'forks/s':>8}  "
           "throughput, python3 -c pass; http: of cells/s; forks: without walls")
    for row in told:
        if "failure" in row:
            yield f"{'-':>7} {'-':>8} {'-':>8} {'-':>8} {'-':>7} {'-':>8}  " \
                  f"{row['outstanding']} outstanding: failed: {row['failure']}"
            continue
        line = (f"{short(row.get('ratio')):>7} {row['cells_per_s']:>8.0f} {row['bare_per_s']:>8.0f} "
                f"{row['http_per_s']:>8.0f} {short(row.get('http_ratio')):>7} {row['forks_per_s']:>8.0f}  "
                f"{row['outstanding']} outstanding")
        mine = [bar for bar in bars if f", {row['outstanding']} outstanding" in bar["what"]]
        yield f"{line:<110} {verdict(mine)}".rstrip()


def burst_line(told):
    what = f"burst of {told['clients']} on a pool of {told['pool']}"
    if "failure" in told:
        return f"{what}: failed: {told['failure']}"
    return (f"{what}: p50 {told['p50_us'] / 1000:.1f} ms, p99 {told['p99_us'] / 1000:.1f} ms, "
            f"last {told['max_us'] / 1000:.1f} ms, {told['warm']} of {told['samples']} warm")


def parked_line(told):
    serves = told["serves"]
    line = (f"{told['reached']} of {told['wanted']} cells parked at once, raised in "
            f"{told['seconds']:.1f} s, {told['memory_kb'] / 1024:.0f} MiB in all, ended in "
            f"{told['ended_seconds']:.1f} s")
    if "failure" in serves:
        line += f"; lent then: failed: {serves['failure']}"
    else:
        line += f"; lent then, p50 {serves['p50_us']} µs, p99 {serves['p99_us']} µs"
    return line + (f"; {told['failure']}" if "failure" in told else "")


def memory_lines(told, bars):
    yield f"{'private':>8} {'pss':>8} {'kernel':>8}  memory of a cell, kB"
    for name, row in told.items():
        if "failure" in row:
            yield f"{'-':>8} {'-':>8} {'-':>8}  {name}: {row['failure']}"
            continue
        line = (f"{row['private_kb']:>8} {row['pss_kb']:>8} {row.get('kernel_kb', '-'):>8}  "
                f"{name} ({row['cells']} cells)")
        mine = [bar for bar in bars if bar["what"].endswith(f"parked cell, {name}")]
        yield f"{line:<110} {verdict(mine)}".rstrip()


def points_line(told, bars):
    if "failure" in told:
        return f"points of a session: {told['failure']}"
    line = (f"{told['points']} points of a session: {told['private_kb']} kB private, "
            f"{told['most_kb']} kB at most")
    mine = [bar for bar in bars if bar["what"] == "private kB of a point"]
    return f"{line:<110} {verdict(mine)}".rstrip()


def lines(report):
    bars = report["bars"]
    if report.get("contenders"):
        yield from contender_lines(report["contenders"])
    if "throughput" in report:
        yield ""
        yield from throughput_lines(report["throughput"], bars)
    if "burst" in report or "parked" in report:
        yield ""
    if "burst" in report:
        yield burst_line(report["burst"])
    if "parked" in report:
        yield parked_line(report["parked"])
    if "memory" in report:
        yield ""
        yield from memory_lines(report["memory"], bars)
    if "points" in report:
        yield ""
        yield points_line(report["points"], bars)
    missed = [bar for bar in bars if not bar["holds"]]
    yield ""
    yield f"{len(bars)} bars, {len(missed)} missed; {report['seconds']:.0f} s"
