/**
 * `pnpm supply-chain [FILE]`: lists the third-party packages that the gateway ships as an SBOM (CycloneDX; written to
 * FILE if given), refuses licences that are not on the list below, and asks the registry for advisories. Exits with 1
 * for a refused licence or an advisory. A registry without advisories is reported, but is not a failure.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { root } from './child.ts';
import { commandLine } from './command-line.ts';

/** Compatible with Apache-2.0 for code that is shipped unchanged (SPDX ids). */
const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);

const licenceSchema = z.union([
  z.object({ license: z.union([z.object({ id: z.string() }), z.object({ name: z.string() })]) }),
  z.object({ expression: z.string() }),
]);
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.object({ name: z.string(), version: z.string(), licenses: z.array(licenceSchema).default([]) }),
  ),
});

export type Component = z.infer<typeof sbomSchema>['components'][number];

/** The licence of a component as one SPDX expression; empty where it names none. */
export function licenceOf({ licenses }: Component): string {
  return licenses
    .map(each => ('expression' in each ? each.expression : 'id' in each.license ? each.license.id : each.license.name))
    .join(' AND ');
}

/** Whether a licence expression can be met with allowed licences alone: one of every OR, all of every AND. */
export function isAllowed(expression: string): boolean {
  const terms = expression.replaceAll(/[()]/g, '').split(/ AND /);
  return terms.every(term => term.split(/ OR /).some(id => ALLOWED.has(id.trim())));
}

/** Returns the output of pnpm even if it fails, because `pnpm audit` fails for every advisory. */
async function pnpm(...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const options = { cwd: root, maxBuffer: 64 * 2 ** 20 };
  return promisify(execFile)('npx', ['-y', 'pnpm@12', ...args], options).catch((error: unknown) =>
    z.object({ stdout: z.string() }).parse(error),
  );
}

/** Returns the run-time packages of the gateway with their licences. @throws if pnpm fails */
export async function readSbom(): Promise<{ readonly text: string; readonly components: readonly Component[] }> {
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const { stdout } = await pnpm('--filter-prod', '@postern/gateway...', 'sbom', '--prod', ...format);
  return { text: stdout, components: sbomSchema.parse(JSON.parse(stdout)).components };
}

async function main(file: string | undefined): Promise<number> {
  const { text, components } = await readSbom();
  if (file !== undefined) writeFileSync(file, text);
  const refused = components.filter(component => !isAllowed(licenceOf(component)));
  console.log(`${components.length} packages, ${refused.length} with a licence that is not allowed`);
  for (const each of refused) console.log(`  ${each.name} ${each.version}: ${licenceOf(each) || 'no licence'}`);
  const audit = await pnpm('audit', '--prod', '--json');
  const known = z.object({ advisories: z.record(z.string(), z.unknown()) }).safeParse(jsonOf(audit.stdout));
  const advisories = known.success ? Object.keys(known.data.advisories).length : 0;
  console.log(known.success ? `${advisories} advisories` : 'advisories: not checked, the registry does not list them');
  return refused.length + advisories > 0 ? 1 : 0;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const { positionals } = commandLine({
    usage: 'supply-chain [file]',
    about: 'lists the packages that the gateway ships, as an SBOM in this file, and looks for licences and advisories',
    options: {},
    words: 1,
  });
  process.exitCode = await main(positionals[0]);
}
