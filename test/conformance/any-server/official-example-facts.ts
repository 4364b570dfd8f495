import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { markdownTable } from '../../support/markdown-table.ts';
import { startOfficialExample } from './official-example.ts';

const program = join(import.meta.dirname, '../../../tools/conformance/src/conformance.ts');
const person = join(import.meta.dirname, 'official-example-person.ts');

const checksSchema = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));

/** Runs the program against the official example, and returns a table of what did not succeed. */
export async function officialExampleFacts(): Promise<string> {
  await using example = await startOfficialExample();
  const folder = mkdtempSync(join(tmpdir(), 'official-example-'));
  try {
    const bearer = join(folder, 'token');
    writeFileSync(bearer, example.token, { mode: 0o600 });
    const args = [
      ...[program, example.url.href, '--tool', 'payment-confirm', '--arguments', '{"cartId":"cart-1"}'],
      ...['--bearer-file', bearer, '--open', `'${process.execPath}' '${person}'`, '--spec-version', '2025-11-25'],
      // The example repeats −32042 for ever: nothing comes after this time.
      ...['--timeout', '3000', '--settle', '3000', '-o', join(folder, 'results')],
    ];
    const env = { ...process.env, OWNER_COOKIE: example.cookie };
    // The program ends with 1: there are failures.
    const { stderr = '', code } = await promisify(execFile)(process.execPath, args, { env }).then(
      ended => ({ ...ended, code: 0 }),
      (error: { stderr?: string; code?: number }) => error,
    );
    const checks = globSync('results/*/checks.json', { cwd: folder })
      .sort()
      .flatMap(path => checksSchema.parse(JSON.parse(readFileSync(join(folder, path), 'utf8'))));
    if (code !== 1 || checks.length === 0) throw new Error(`the program ended with ${code}: ${stderr}`);
    const rows = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status, errorMessage = '' }) => [`\`${id}\``, status, errorMessage]);
    return markdownTable(['check', 'status', 'what the suite saw'], rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
