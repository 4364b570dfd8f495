import { readFileSync } from 'node:fs';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod/v4';
import { parseLimits } from './calls/limits.ts';
import { ElicitationRefusedError } from './errors.ts';
import { readUrlElicitationRequired } from './requests.ts';
import { context, formOf, url } from './testing/example-requests.ts';
import { startEndpoint } from './testing/http-endpoint.ts';
import {
  builderExample,
  ciExample,
  customExample,
  refusalExample,
  terminalExample,
  v1Example,
} from './testing/readme-examples.ts';
import { ScriptedPerson } from './testing/scripted-person.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const undented = (text: string) => {
  const lines = text.split('\n');
  const depth = Math.min(...lines.filter(line => line.trim() !== '').map(line => line.search(/\S/)));
  return lines
    .map(line => line.slice(depth))
    .join('\n')
    .trim();
};
const examples = [...read('./testing/readme-examples.ts').matchAll(/\/\/ #region (\w+)\n([\s\S]*?) *\/\/ #endregion/g)];

test.each(examples.map(([, name = '', body = '']) => [name, undented(body)]))(
  'README.md has the example %s',
  (_name, body) => {
    expect(read('../README.md')).toContain(body);
  },
);

test('every example of README.md is run by a test', () => {
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const bodies = examples.map(([, , body = '']) => undented(body));
  expect(blocks.length).toBe(bodies.length);
  expect(blocks.filter(block => !bodies.some(body => block.includes(body)))).toEqual([]);
});

describe('the examples', () => {
  test('terminal: only the browser requests the page', async () => {
    let visits = 0;
    const page = await startEndpoint((_request, response) => {
      visits += 1;
      response.end();
    });
    onTestFinished(() => page[Symbol.asyncDispose]());
    const handler = createMcpHandler(() => {
      const mcpServer = new McpServer({ name: 'issues', version: '1.0.0' });
      mcpServer.registerTool(
        'create_issue',
        { inputSchema: z.object({ repository: z.string() }) },
        (_args, { mcpReq }) => {
          const visit = inputResponse(mcpReq.inputResponses, 'page');
          const form = inputResponse(mcpReq.inputResponses, 'form');
          if (visit.kind === 'elicit' && form.kind === 'elicit')
            return { content: [{ type: 'text', text: JSON.stringify([visit.action, form.action, form.content]) }] };
          const requestedSchema = z.object({ title: z.string(), urgent: z.boolean().default(false) });
          return inputRequired({
            inputRequests: {
              page: inputRequired.elicitUrl({ message: 'Connect your account.', url: page.url.href }),
              form: inputRequired.elicit({ message: 'What is it about?', requestedSchema }),
            },
          });
        },
      );
      return mcpServer;
    });
    onTestFinished(() => handler.close());
    const endpoint = await startEndpoint(toNodeHandler(handler));
    onTestFinished(() => endpoint[Symbol.asyncDispose]());
    const person = new ScriptedPerson('y', 'Broken', '', 's');
    const opened: string[] = [];
    const result = await terminalExample(endpoint.url.href, {
      input: person.input,
      output: person.output,
      openUrl: async href => opened.push(href) > 0,
    });
    expect(result.content).toEqual([{ type: 'text', text: '["accept","accept",{"title":"Broken","urgent":false}]' }]);
    expect({ opened, visits }).toEqual({ opened: [page.url.href], visits: 0 });
    await fetch(page.url);
    expect(visits).toBe(1);
  });

  test('docs/limits.md has the default of each limit', () => {
    const page = read('../../../docs/limits.md');
    const missing = Object.entries(parseLimits()).filter(
      ([name, value]) => !page.includes(`| \`${name}\` | ${value} |`),
    );
    expect(missing).toEqual([]);
  });

  test('refusal', async () => {
    const refused = async () => {
      throw new ElicitationRefusedError({ action: 'decline' });
    };
    expect(await refusalExample(refused)).toMatchObject({ isError: true });
    await expect(refusalExample(() => Promise.reject(new TypeError('other')))).rejects.toThrow('other');
  });

  test('ci', async () => {
    const lines: string[] = [];
    const handler = ciExample(line => void lines.push(line));
    const form = formOf({
      title: { type: 'string' },
      labels: { type: 'array', items: { type: 'string', enum: ['bug'] } },
      priority: { type: 'integer', default: 1 },
    });
    expect(await handler(form, context)).toEqual({
      action: 'accept',
      content: { title: 'Nightly build failed', labels: ['bug'], priority: 1 },
    });
    expect(await handler(url, context)).toEqual({ action: 'decline', by: 'policy' });
    expect(lines).toHaveLength(2);
  });

  test('custom', async () => {
    const handler = customExample({ handler: async () => ({ action: 'cancel' }) });
    const team = formOf({ team: { type: 'string' } });
    expect(await handler(team, context)).toEqual({ action: 'accept', content: { team: 'core' } });
    expect(await handler(url, context)).toEqual({ action: 'cancel' });
    expect(await handler(formOf({}), context)).toEqual({ action: 'cancel' });
    expect(await handler(formOf({}), { ...context, mcpServer: { id: 'untrusted' } })).toEqual({
      action: 'decline',
      by: 'policy',
    });
  });

  test('builders and SDK 1.x', () => {
    const { form, page, error } = builderExample();
    expect(form.mode).toBe('form');
    expect(readUrlElicitationRequired(error)).toEqual([page]);
    expect(v1Example(async () => ({ action: 'cancel' })).capabilities).toEqual({ form: {}, url: {} });
  });
});
