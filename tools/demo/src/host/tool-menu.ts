import type { Client } from '@modelcontextprotocol/client';
import { inertLine } from '@postern/host';

/** A tool of the MCP server, as an entry of the menu. */
export interface MenuEntry {
  readonly tool: string;
  /** Of the MCP server, so it may contain anything: shown as one line of plain text. */
  readonly label: string;
  readonly questions: readonly Question[];
}

interface Question {
  readonly argument: string;
  readonly text: string;
  readonly type: 'string' | 'number' | 'boolean';
  readonly isRequired: boolean;
}

type Tool = Awaited<ReturnType<Client['listTools']>>['tools'][number];

const MOST_ENTRIES = 50;

/** Entries for tools whose arguments can be typed: texts, numbers and booleans. */
export function menuOf(tools: readonly Tool[]): readonly MenuEntry[] {
  return tools.slice(0, MOST_ENTRIES).flatMap(tool => {
    const questions = Object.entries(tool.inputSchema.properties ?? {}).map(([argument, schema]) =>
      questionOf(argument, schema, tool.inputSchema.required?.includes(argument) === true),
    );
    if (questions.some(question => question === undefined)) return [];
    const label = inertLine(tool.title ?? tool.name, 60);
    return [{ tool: tool.name, label, questions: questions.filter(question => question !== undefined) }];
  });
}

function questionOf(argument: string, schema: unknown, isRequired: boolean): Question | undefined {
  const { type, description } = Object(schema) as { type?: unknown; description?: unknown };
  const text = inertLine(typeof description === 'string' ? `${argument} (${description})` : argument, 120);
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return { argument, text, type, isRequired };
    case 'integer':
      return { argument, text, type: 'number', isRequired };
    default:
      return undefined;
  }
}

/** @returns undefined if the user left a required argument empty, or the input has ended */
export async function askArguments(
  { questions }: MenuEntry,
  ask: (question: string) => Promise<string | undefined>,
): Promise<Record<string, unknown> | undefined> {
  const args: [name: string, value: unknown][] = [];
  for (const { argument, text, type, isRequired } of questions) {
    const answer = await ask(`${text}: `);
    if (answer === undefined || (answer === '' && isRequired)) return undefined;
    if (answer === '') continue;
    const value = type === 'number' ? Number(answer) : type === 'boolean' ? /^y/i.test(answer) : answer;
    args.push([argument, value]);
  }
  return Object.fromEntries(args);
}
