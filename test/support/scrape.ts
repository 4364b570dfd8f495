import type { Gateway } from '@postern/gateway';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads all metrics of a gateway as Prometheus does (text format 0.0.4). Throws on an invalid line. */
export async function scrape(gateway: Gateway | undefined): Promise<readonly Sample[]> {
  const response = await fetch(`${gateway?.metricsAddress}/metrics`);
  const text = await response.text();
  return text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [, name, labels = '', value] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
      if (name === undefined) throw new TypeError(`invalid sample: ${line}`);
      const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gi)].map(([, key, found]) => [key, found]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** Returns the sum of the samples with this name and these labels. */
export function total(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter(it => it.name === name && Object.entries(labels).every(([key, value]) => it.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
