import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { blocksIn, type DocBlock } from './doc-blocks.ts';

const folder = join(import.meta.dirname, '..');
const root = join(folder, '../..');
const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** Blocks that TypeScript checks, JavaScript among them. */
export const typescriptBlocks: readonly DocBlock[] = blocksIn('ts', 'typescript', 'js', 'javascript');

/** The module with the predefined names for the examples of a document. */
export function preludeOf(document: string): string {
  return `${document
    .replace(/\.md$/, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .toLowerCase()}.ts`;
}

/**
 * Type-checks every block as a separate module, all in one program. Each fault is one line: document, line, message.
 */
export async function faultsOfTypes(blocks: readonly DocBlock[]): Promise<string[]> {
  // A folder in which module resolution finds the packages of the preludes but not the sources of the project.
  const program = await mkdtemp(join(root, 'test/node_modules/.blocks-'));
  try {
    const modules = await Promise.all(blocks.map(moduleOf));
    await Promise.all(modules.map((text, index) => writeFile(join(program, `block-${index}.ts`), text)));
    const compilerOptions = {
      noUnusedLocals: false,
      noUnusedParameters: false,
      noImplicitReturns: false,
      verbatimModuleSyntax: false,
    };
    const files = modules.map((_, index) => `block-${index}.ts`);
    await writeFile(
      join(program, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
    );
    const output = await outputOf(program);
    return output.split('\n').flatMap(line => {
      const [, index, row, fault] = /block-(\d+)\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
      const block = blocks[Number(index)];
      if (block !== undefined) return [`${block.document}:${block.line + Number(row) - HEAD_LINES - 1}: ${fault}`];
      return line.trim() === '' || line.startsWith(' ') ? [] : [line];
    });
  } finally {
    await rm(program, { recursive: true, force: true });
  }
}

/** Number of lines in a module before its block. */
const HEAD_LINES = 1;

/**
 * Wraps a block in a function, so that it may return, await, and redeclare names of its prelude. Imports move to the
 * top, and line numbers stay.
 */
async function moduleOf({ document, body }: DocBlock): Promise<string> {
  const imports = body.match(/^import [^;]*;$/gm) ?? [];
  const code = body
    .replaceAll(/^import [^;]*;$/gm, text => text.replaceAll(/[^\n]/g, ''))
    .replaceAll(/^export (?=\w)/gm, '');
  const imported = new Set(imports.flatMap(text => [...text.matchAll(/\w+/g)].map(([name]) => name)));
  const path = join(folder, 'preludes', preludeOf(document));
  const names = existsSync(path) ? exportsOf(await readFile(path, 'utf8')).filter(name => !imported.has(name)) : [];
  const prelude =
    names.length === 0 ? '' : `import { ${names.join(', ')} } from '../../docs/preludes/${preludeOf(document)}';`;
  return `${[...imports.map(text => text.replaceAll('\n', ' ')), prelude].join(' ')} export async function example() {\n${code}\n}\n`;
}

function exportsOf(prelude: string): string[] {
  const declared = [...prelude.matchAll(/^export declare (?:const|function) (\w+)/gm)].map(([, name]) => name ?? '');
  const passedOn = [...prelude.matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, list]) =>
    [...(list ?? '').matchAll(/(?:type )?(?:\w+ as )?(\w+)(?:,|\s*$)/g)].map(([, name]) => name ?? ''),
  );
  return [...declared, ...passedOn];
}

async function outputOf(program: string): Promise<string> {
  return new Promise(resolve => {
    execFile(process.execPath, [tsc, '--pretty', 'false', '-p', program], (_error, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}
