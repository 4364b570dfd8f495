import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from './fault.ts';
import { runTests, type TestRun } from './run-tests.ts';
import { copyWorkspace, type WorkspaceCopy } from './workspace-copy.ts';

export type FaultResult = { readonly fault: Fault; readonly run: TestRun; readonly seconds: number };

/**
 * Puts each fault into a copy of the repository, one fault per copy at a time, and runs the tests that must find it.
 */
export async function runFaults(
  faults: readonly Fault[],
  p: { readonly copies: number; readonly limitMs: number; readonly onResult: (result: FaultResult) => void },
): Promise<void> {
  const waiting = [...faults];
  await Promise.all(
    Array.from({ length: p.copies }, async () => {
      using copy = copyWorkspace();
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        p.onResult(await runFault(fault, copy, p.limitMs));
      }
    }),
  );
}

async function runFault(fault: Fault, { folder }: WorkspaceCopy, limitMs: number): Promise<FaultResult> {
  const path = join(folder, fault.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, withFault(text, fault));
  const began = performance.now();
  try {
    const run = await runTests({ folder, files: fault.foundBy, only: fault.only, limitMs });
    return { fault, run, seconds: (performance.now() - began) / 1000 };
  } finally {
    writeFileSync(path, text);
  }
}

/**
 * The original text may stand in the file with other line breaks and spaces: a fault outlives the formatter.
 *
 * @throws TypeError when the original text does not occur exactly once: the fault is stale.
 */
export function withFault(text: string, { name, file, original, replacement }: Fault): string {
  const [before, after, ...more] = text.split(original);
  if (before !== undefined && after !== undefined && more.length === 0) return `${before}${replacement}${after}`;
  const signs = signsOf(text);
  const all = signs.map(({ sign }) => sign).join('');
  const sought = signsOf(original)
    .map(({ sign }) => sign)
    .join('');
  const index = all.indexOf(sought);
  const first = signs[index];
  const last = signs[index + sought.length - 1];
  if (first === undefined || last === undefined || all.includes(sought, index + 1)) {
    throw new TypeError(`The original text of the fault "${name}" must occur exactly once in ${file}.`);
  }
  return `${text.slice(0, first.at)}${replacement}${text.slice(last.at + 1)}`;
}

/** What a formatter leaves as it is: all but white space and the comma behind the last member. */
function signsOf(text: string): { readonly sign: string; readonly at: number }[] {
  return Array.from(text.matchAll(/(?!,\s*[)\]}])\S/g), ({ 0: sign, index }) => ({ sign, at: index }));
}

/** Runs all test files without a fault: a test that fails anyway would find every fault. */
export async function runBaseline(faults: readonly Fault[]): Promise<TestRun> {
  using copy = copyWorkspace();
  const files = [...new Set(faults.flatMap(({ foundBy }) => foundBy))];
  return await runTests({ folder: copy.folder, files, limitMs: 10 * 60_000 });
}
