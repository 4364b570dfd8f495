/** Returns the cycles of a graph, each once, as a closed path: a → b → a. */
export function findCycles(edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (node: string, trail: readonly string[]) => {
    const seenAt = trail.indexOf(node);
    if (seenAt >= 0) cycles.push([...trail.slice(seenAt), node].join(' → '));
    if (seenAt >= 0 || finished.has(node)) return;
    for (const next of edges.get(node) ?? []) visit(next, [...trail, node]);
    finished.add(node);
  };
  for (const node of edges.keys()) visit(node, []);
  return cycles;
}
