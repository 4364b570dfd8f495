import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** Paths of the documents with tested code blocks, from the root of the repository. */
export const documents: readonly string[] = globSync(
  ['*.md', 'docs/*.md', 'docs/runbooks/*.md', '{packages,services,tools,test}/*/README.md'],
  {
    cwd: root,
  },
).sort();

export interface DocBlock {
  /** Path of its document, from the root of the repository. */
  readonly document: string;
  /** Line number of its first line of code. */
  readonly line: number;
  /** Language named by the fence; empty if it names none. */
  readonly language: string;
  /** Without the common indentation of its lines. */
  readonly body: string;
}

export const titleOf = ({ document, line }: DocBlock): string => `${document}:${line}`;

export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Returns the fenced code blocks of a document. @throws if a fence is never closed */
function blocksOf(document: string, text = readDocument(document)): DocBlock[] {
  const blocks: DocBlock[] = [];
  let open: { line: number; language: string; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { line: index + 2, language: fence[1]?.trim() ?? '', lines: [] };
    else {
      blocks.push({ document, line: open.line, language: open.language, body: dedented(open.lines) });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${document}:${open.line}: the code block is never closed`);
  return blocks;
}

/** Every code block of every document. */
export const docBlocks: readonly DocBlock[] = documents.flatMap(document => blocksOf(document));

export function blocksIn(...languages: string[]): DocBlock[] {
  return docBlocks.filter(({ language }) => languages.includes(language));
}

function dedented(lines: readonly string[]): string {
  const depth = Math.min(...lines.filter(line => line.trim() !== '').map(line => line.search(/\S/)));
  return lines.map(line => line.slice(depth)).join('\n');
}
