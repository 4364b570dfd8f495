/** Compares dashboard, alerts and documentation with the registered metrics. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../scripts/child.ts';
import { createChannels } from '../services/gateway/src/platform/call-channels.ts';
import { createMetrics } from '../services/gateway/src/platform/metrics/create-metrics.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

const metricsSchema = z.array(
  z.object({ name: z.string(), type: z.enum(['counter', 'gauge', 'histogram']), labelNames: z.array(z.string()) }),
);
const metrics = metricsSchema.parse(createMetrics(createChannels({ error: () => {} })).registry.getMetricsAsArray());
const labelsOf = new Map(metrics.map(({ name, labelNames }) => [name, labelNames]));

/** The series that Prometheus derives from each metric. */
const series = new Map<string, readonly string[]>(
  metrics.flatMap(({ name, type, labelNames }): [string, readonly string[]][] =>
    type === 'histogram'
      ? [
          [`${name}_bucket`, [...labelNames, 'le']],
          [`${name}_sum`, labelNames],
          [`${name}_count`, labelNames],
        ]
      : [[name, labelNames]],
  ),
);
/** Labels that Prometheus adds. */
const added = ['instance', 'job'];

/** Returns every selector of an expression, with the labels that it matches. */
function selectorsIn(expression: string) {
  return [...expression.matchAll(/\b((?:postern|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  );
}

function expectKnown(expression: string): void {
  const selectors = selectorsIn(expression);
  for (const { name, labels } of selectors) {
    expect([...series.keys()], expression).toContain(name);
    expect([...(series.get(name) ?? []), ...added], expression).toEqual(expect.arrayContaining(labels));
  }
  const known = new Set([...selectors.flatMap(({ name }) => series.get(name) ?? []), ...added]);
  for (const [, grouped = ''] of expression.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of grouped.split(',').map(part => part.trim())) expect([...known], expression).toContain(label);
}

describe('infra/grafana/dashboard.json', () => {
  const panelSchema = z.object({
    id: z.int(),
    type: z.string(),
    title: z.string().min(1),
    gridPos: z.object({ x: z.int().min(0), y: z.int().min(0), w: z.int().min(1), h: z.int().min(1) }),
    targets: z.array(z.object({ expr: z.string().min(1) })).optional(),
  });
  const { panels } = z.object({ panels: z.array(panelSchema) }).parse(JSON.parse(read('infra/grafana/dashboard.json')));
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  test('queries only registered metrics', () => {
    expect(expressions.length).toBeGreaterThan(20);
    for (const expression of expressions) expectKnown(expression);
  });

  test('shows every metric of ours', () => {
    const shown = new Set(expressions.flatMap(selectorsIn).map(({ name }) => name.replace(/_(bucket|count|sum)$/, '')));
    expect([...labelsOf.keys()].filter(name => name.startsWith('postern_') && !shown.has(name))).toEqual([]);
  });

  test('has no overlapping panels', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const [at, { gridPos: one }] of panels.entries())
      for (const { gridPos: other } of panels.slice(at + 1)) {
        const overlaps =
          one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;
        expect(overlaps).toBe(false);
        expect(one.x + one.w).toBeLessThanOrEqual(24);
      }
  });
});

describe('infra/prometheus', () => {
  const ruleSchema = z.strictObject({
    alert: z.string().regex(/^Postern[A-Za-z]+$/),
    expr: z.string(),
    for: z
      .string()
      .regex(/^\d+[smh]$/)
      .optional(),
    labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
    annotations: z.strictObject({ summary: z.string(), action: z.string().optional(), runbook_url: z.string() }),
  });
  const alerts = z
    .strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(ruleSchema).min(1) })) })
    .parse(parse(read('infra/prometheus/alerts.yml')));
  const rules = alerts.groups.flatMap(group => group.rules);

  test.each(rules)('$alert queries only registered metrics', ({ expr, annotations }) => {
    if (!/\bup\{/.test(expr)) expect(selectorsIn(expr).length).toBeGreaterThan(0);
    expectKnown(expr);
    const known = new Set([...selectorsIn(expr).flatMap(({ name }) => series.get(name) ?? []), ...added]);
    for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.([a-z_]+)/g))
      expect([...known]).toContain(label);
  });

  test.each(rules)('S79: the runbook of $alert is an existing heading', ({ annotations }) => {
    const [path = '', anchor] = annotations.runbook_url.split('#');
    const headings = [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
    expect(headings).toContain(anchor);
  });

  test('has no duplicate alert', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test('scrapes the port that the shipped configuration opens', () => {
    const { scrape_configs: jobs } = z
      .object({
        rule_files: z.array(z.string()),
        scrape_configs: z.array(
          z.object({ job_name: z.string(), static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
        ),
      })
      .refine(({ rule_files }) => rule_files.every(file => existsSync(join(root, 'infra/prometheus', file))))
      .parse(parse(read('infra/prometheus/prometheus.yml')));
    const config = z
      .object({ metrics: z.object({ host: z.literal('0.0.0.0'), port: z.int() }) })
      .parse(parse(read('infra/postern.config.yaml')));
    expect(jobs.map(job => [job.job_name, job.static_configs.flatMap(({ targets }) => targets)])).toEqual([
      ['postern', [`gateway:${config.metrics.port}`]],
    ]);
  });
});

test('docs/observability.md documents the type and labels of exactly our metrics', () => {
  const rows = [...read('docs/observability.md').matchAll(/^\| `(postern_\w+)` \| (\w+) \|(.*?)\| (.+) \|$/gm)];
  const documented = rows.map(([, name, type, labels = '', meaning = '']) => {
    expect(meaning.length, name).toBeGreaterThan(5);
    return { name, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label) };
  });
  const ours = metrics
    .filter(({ name }) => name.startsWith('postern_'))
    .map(({ name, type, labelNames }) => ({ name, type, labels: labelNames }));
  expect(documented).toEqual(ours);
});
