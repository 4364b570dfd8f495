import { type AuditStreamName, isAuditPosition } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { freshSuite } from './contract-stores.ts';

export const describeAuditTrail = freshSuite('audit trail', stores => {
  /** Appends lines one after another, with their number as text. */
  async function append(...names: readonly AuditStreamName[]): Promise<void> {
    for (const [at, stream] of names.entries()) await stores.audits.append(stream, `line ${at}`);
  }
  const textsOf = (lines: readonly { readonly line: string }[]) => lines.map(({ line }) => line);
  const mixed = ['people', 'operators', 'people', 'people', 'operators'] as const;

  test('S205: returns the lines of both streams in the order of their positions, from either end', async () => {
    await append(...mixed);
    const lines = await stores.audits.read({ limit: 10 });
    expect(lines.map(({ line }) => line).sort()).toEqual(mixed.map((_, at) => `line ${at}`));
    expect(lines.every(({ position }) => isAuditPosition(position))).toBe(true);
    for (const stream of ['people', 'operators'])
      expect(textsOf(lines.filter(line => line.stream === stream))).toEqual(
        mixed.flatMap((of, at) => (of === stream ? [`line ${at}`] : [])),
      );
    expect(lines.map(({ position }) => position.endsWith('o'))).toEqual(
      lines.map(({ stream }) => stream === 'operators'),
    );
    expect(await stores.audits.readBack({ limit: 10 })).toEqual(lines.toReversed());
  });

  test('S205: continues after the last line of each stream, and before a line', async () => {
    await append(...mixed);
    const lines = await stores.audits.read({ limit: 10 });
    const after: Partial<Record<AuditStreamName, string>> = {};
    const found = [];
    for (let step = 0; step < 6; step += 1) {
      const [next] = await stores.audits.read({ after, limit: 1 });
      if (next === undefined) break;
      found.push(next);
      after[next.stream] = next.position;
    }
    expect(found).toEqual(lines);
    const back = [];
    let before: string | undefined;
    for (let step = 0; step < 6; step += 1) {
      const page = await stores.audits.readBack({ before, limit: 2 });
      back.push(...page);
      before = page.at(-1)?.position;
      if (before === undefined) break;
    }
    expect(back).toEqual(lines.toReversed());
  });

  test('returns the lines of a period', async () => {
    await append(...mixed);
    const lines = await stores.audits.read({ limit: 10 });
    const timeOf = (at: number) => Number(lines.at(at)?.position.split('-')[0]);
    const [first, last] = [timeOf(0), timeOf(-1)];
    expect(await stores.audits.read({ since: new Date(first), limit: 10 })).toEqual(lines);
    expect(await stores.audits.read({ since: new Date(last + 1), limit: 10 })).toEqual([]);
    const back = (since: number, until: number) =>
      stores.audits.readBack({ since: new Date(since), until: new Date(until), limit: 10 });
    expect(await back(first, last)).toEqual(lines.toReversed());
    expect(await back(0, first - 1)).toEqual([]);
    expect(await back(last + 1, last + 2)).toEqual([]);
    expect(await back(-1, last)).toHaveLength(lines.length);
  });
});
