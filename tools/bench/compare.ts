/** `pnpm bench --compare=REV`: measures a revision and the working tree in turn (A B A B …), so that both meet the same machine. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithUs } from '../../test/support/end-with-us.ts';
import { markdownTable } from '../../test/support/markdown-table.ts';
import { root } from './support/child.ts';
import { readResult } from './support/result-file.ts';
import type { StoredRow } from './support/row.ts';
import { median, ratios, sideOf } from './support/statistics.ts';

/** A figure of both sides, with one value for each round. */
interface ComparedFigure {
  readonly figure: string;
  readonly unit: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** One run of one side. */
type Side = readonly StoredRow[];

/** Joins the rounds of both sides, figure by figure. A figure that one side does not have is left out. */
export function comparedFigures(rounds: readonly { readonly before: Side; readonly after: Side }[]): ComparedFigure[] {
  const [first] = rounds;
  return (first?.after ?? []).flatMap(({ figure, unit }, at) => {
    // Several groups have a figure of the same name.
    const nth = (first?.after ?? []).slice(0, at).filter(row => row.figure === figure).length;
    const valueIn = (rows: Side) => {
      const row = rows.filter(each => each.figure === figure)[nth];
      return row === undefined ? Number.NaN : median(row.ours);
    };
    const before = rounds.map(round => valueIn(round.before));
    const after = rounds.map(round => valueIn(round.after));
    return [...before, ...after].some(Number.isNaN) ? [] : [{ figure, unit, before, after }];
  });
}

/** What the ratios of the rounds say: by how much the figure differs, unless they differ more among themselves. */
export function renderComparison(revision: string, figures: readonly ComparedFigure[]): string {
  return markdownTable(
    ['figure', revision, 'working tree', 'ratio', 'spread', 'verdict'],
    figures.map(({ figure, unit, before, after }) => {
      const factors = ratios({ ours: after, baseline: before });
      const [least, most] = [Math.min(...factors), Math.max(...factors)];
      return [
        figure,
        `${short(median(before))} ${unit}`,
        `${short(median(after))} ${unit}`,
        median(factors).toFixed(2),
        `${least.toFixed(2)}–${most.toFixed(2)}`,
        VERDICTS[sideOf(factors, 1)],
      ];
    }),
  );
}

const VERDICTS = { below: 'less', at: 'the same', above: 'more', undecided: 'cannot be decided here' } as const;

const short = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(2));

interface Comparison {
  readonly revision: string;
  /** Rounds of both sides. */
  readonly rounds: number;
  /** Further arguments of the benchmark in each round. */
  readonly args: readonly string[];
}

/** @throws if git does not know the revision, or a run fails */
export async function compareRevisions({ revision, rounds, args }: Comparison): Promise<readonly ComparedFigure[]> {
  const tree = checkedOut(revision);
  const results: { before: Side; after: Side }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const before = await measured(tree, args);
    results.push({ before, after: await measured(root, args) });
    console.error(`round ${round} of ${rounds}`);
  }
  return comparedFigures(results);
}

/** A work tree of the revision, installed. Removed when this process exits. */
function checkedOut(revision: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-revision-'));
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  git('worktree', 'add', '--quiet', '--detach', '--force', folder, revision);
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
    git('worktree', 'prune');
  });
  const install = ['-y', 'pnpm@12', 'install', '--frozen-lockfile', '--prefer-offline'];
  execFileSync('npx', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return folder;
}

/** Runs the benchmark of a work tree with one round of each row. Its result file is newer than the call. */
async function measured(tree: string, args: readonly string[]): Promise<Side> {
  // Older revisions have it beside the tests.
  const bench = ['tools/bench', 'test/bench'].find(folder => existsSync(join(tree, folder, 'main.ts')));
  if (bench === undefined) throw new Error(`${tree} has no benchmark`);
  const startedAt = new Date().toISOString();
  const child = endWithUs(
    spawn(process.execPath, [`${bench}/main.ts`, ...args], { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] }),
  );
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the benchmark of ${tree} ended with exit code ${code}`);
  const folder = join(tree, bench, 'results');
  const newest = readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => readResult(join(folder, name)))
    .filter(({ date }) => date >= startedAt)
    .at(-1);
  if (newest === undefined) throw new Error(`the benchmark of ${tree} has written no result`);
  return newest.rows;
}
