import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ElicitationContext, ElicitationRequest, UrlElicitation } from '../elicitation.ts';
import { parseElicitation } from '../requests.ts';
import { context, formOf, url } from '../testing/example-requests.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { ScriptedPerson } from '../testing/scripted-person.ts';
import { parseRequestedSchema } from '../wire-schema.ts';
import { createTerminal, type TerminalOptions } from './terminal.ts';

function seat(person: ScriptedPerson, options: TerminalOptions = {}) {
  const opened: string[] = [];
  const openUrl = async (href: string) => opened.push(href) > 0;
  const terminal = createTerminal({ input: person.input, output: person.output, colour: false, openUrl, ...options });
  onTestFinished(() => terminal.close());
  return { terminal, opened };
}

async function answer(request: ElicitationRequest, lines: readonly string[], from: ElicitationContext = context) {
  const person = new ScriptedPerson(...lines);
  const { terminal, opened } = seat(person);
  return { action: await terminal.handler(request, from), opened, person };
}

const form = formOf(
  {
    title: { type: 'string', title: 'Title', minLength: 3 },
    priority: { type: 'integer', default: 2 },
    labels: { type: 'array', items: { type: 'string', enum: ['bug', 'docs', 'ui'] } },
    colour: {
      type: 'string',
      oneOf: [
        { const: '#f00', title: 'Red' },
        { const: '#0f0', title: 'Green' },
      ],
      default: '#0f0',
    },
    notify: { type: 'boolean' },
  },
  ['title'],
);

describe('a form', () => {
  test('is filled in field by field, with defaults on Enter, and reviewed', async () => {
    const { action, person } = await answer(form, ['ab', 'Broken', '', '1,3', '1', '', 's']);
    expect(action).toEqual({
      action: 'accept',
      content: { title: 'Broken', priority: 2, labels: ['bug', 'ui'], colour: '#f00' },
    });
    expect(person.text).toContain('1  Title (title): Broken');
    expect(person.text).toContain('5  notify: (left out)');
    expect(person.text).not.toContain('\u001b');
    expect(person.unused).toBe(0);
  });

  test('can be changed in the review', async () => {
    const { action } = await answer(form, [
      'Broken',
      '5',
      ':skip',
      '',
      'y',
      '?',
      'e 9',
      'e 1',
      'Mended',
      'e2',
      '7',
      'send',
    ]);
    expect(action).toEqual({
      action: 'accept',
      content: { title: 'Mended', priority: 7, colour: '#0f0', notify: true },
    });
  });

  test.each([
    ['decline', [':decline']],
    ['decline', ['Broken', ':d']],
    ['cancel', ['Broken', '', ':cancel']],
    ['decline', ['Broken', '', '', '', '', 'd']],
    ['cancel', ['Broken', '', '', '', '', 'c']],
    ['decline', ['Broken', '', '', '', '', 'e 2', ':decline']],
  ])('can be ended with %s at %j', async (action, lines) => {
    expect((await answer(form, lines)).action).toEqual({ action });
  });

  test('warns of a field or a message that seems to ask for a secret', async () => {
    const secret = formOf({ apiKey: { type: 'string' }, note: { type: 'string' } });
    const warned = await answer(secret, ['', '', 's']);
    expect(warned.person.text.match(/Careful:/g)).toHaveLength(1);
    expect(warned.action).toEqual({ action: 'accept', content: {} });
    const message = { ...formOf({ value: { type: 'string' } }), message: 'Paste your access token.' };
    expect((await answer(message, [':d'])).person.text.match(/Careful:/g)).toHaveLength(1);
    expect((await answer(form, [':d'])).person.text).not.toContain('Careful:');
  });

  test('shows and returns any names and options', async () => {
    const requestedSchema = parseRequestedSchema({
      type: 'object',
      properties: {
        'first name': { type: 'string' },
        constructor: { type: 'integer' },
        size: { type: 'string', enum: ['', 'L'] },
        extras: { type: 'array', items: { anyOf: [{ const: '', title: 'None' }] } },
        '\u202e': { type: 'boolean' },
      },
      required: ['first name'],
    });
    const { action, person } = await answer({ mode: 'form', message: 'm', requestedSchema }, [
      'A',
      '1',
      '1',
      '1',
      'y',
      's',
    ]);
    const content = { 'first name': 'A', constructor: 1, size: '', extras: [''], '\u202e': true };
    expect(action).toEqual({ action: 'accept', content });
    for (const shown of ['first name', '1  (empty)', 'None ()', '(no name)']) expect(person.text).toContain(shown);
    expect(person.text).not.toContain('\u202e');
  });

  test('without fields asks for consent only', async () => {
    expect((await answer(formOf({}), ['s'])).action).toEqual({ action: 'accept', content: {} });
    expect((await answer(formOf({}), ['d'])).action).toEqual({ action: 'decline' });
  });
});

describe('a URL', () => {
  test('is opened only after consent', async () => {
    const { action, opened, person } = await answer(url, ['', 'maybe', 'y']);
    expect(action).toEqual({ action: 'accept' });
    expect(opened).toEqual(['https://gate.example.com/e/1']);
    expect(person.lines).toContain('The MCP server issues at https://mcp.example.com asks you to open a page.');
    expect(person.lines).toContain('    | Connect your account.');
    expect(person.lines).toContain('  Address: https://gate.example.com/e/1');
    expect(person.lines).toContain('  Domain:  example.com');
  });

  test.each([
    ['decline', 'n'],
    ['decline', ':decline'],
    ['cancel', 'c'],
    ['cancel', ':c'],
  ])('is not opened on %s', async (action, line) => {
    const answered = await answer(url, [line]);
    expect(answered).toMatchObject({ action: { action }, opened: [] });
  });

  test('is declined without a prompt if it is not a web address', async () => {
    const { action, opened, person } = await answer({ ...url, url: 'file:///etc/passwd' }, ['y']);
    const refused = { action: 'decline', by: 'policy' };
    expect({ action, opened, unused: person.unused }).toEqual({ action: refused, opened: [], unused: 1 });
  });

  test('has its domain highlighted on a colour terminal', async () => {
    const person = new ScriptedPerson('n');
    const { terminal } = seat(person, { colour: true });
    await terminal.handler(url, context);
    expect(person.text.split('\u001b[1;7mexample.com\u001b[0m')).toHaveLength(3);
  });

  test('shows warnings before the question', async () => {
    const { person } = await answer({ ...url, url: 'http://github.com@gіthub.com:81/' }, ['n']);
    const warnings = person.lines.filter(line => line.startsWith('  Careful:'));
    expect(warnings).toHaveLength(4);
    expect(warnings.join()).toContain('gіthub.com');
    expect(warnings.join()).toContain('xn--');
  });

  test('is requested only by the browser, and only after the user has consented', async () => {
    let requests = 0;
    const page = createServer((_request, response) => {
      requests += 1;
      response.end();
    });
    let connections = 0;
    page.on('connection', () => {
      connections += 1;
    });
    page.listen(0, '127.0.0.1');
    await once(page, 'listening');
    onTestFinished(() => void page.close());
    const address = `http://127.0.0.1:${(page.address() as AddressInfo).port}/e/1`;
    const atQuestion: number[] = [];
    const look = (line: string) => () => {
      atQuestion.push(connections);
      return line;
    };
    const person = new ScriptedPerson(look('n'), look('c'), look('y'));
    const { terminal, opened } = seat(person);
    for (const action of ['decline', 'cancel', 'accept'])
      expect(await terminal.handler({ ...url, url: address }, context)).toEqual({ action });
    expect({ atQuestion, connections, requests, opened }).toEqual({
      atQuestion: [0, 0, 0],
      connections: 0,
      requests: 0,
      opened: [address],
    });
    // Proves that the server counts: a prefetch would look like this request.
    await fetch(address);
    expect({ connections, requests }).toEqual({ connections: 1, requests: 1 });
  });

  test('is left for the user to open if no browser can be started', async () => {
    const person = new ScriptedPerson('y');
    const { terminal } = seat(person, { openUrl: async () => false });
    expect(await terminal.handler(url, context)).toEqual({ action: 'accept' });
    expect(person.text).toContain('open the address yourself');
  });
});

describe('the dialogue', () => {
  test('returns cancel after the timeout', async () => {
    const clock = new ManualClock();
    const person = new ScriptedPerson(() => {
      clock.advance(60_000);
      return undefined;
    });
    const { terminal, opened } = seat(person, { clock, answerWithinMs: 60_000 });
    expect(await terminal.handler(url, context)).toEqual({ action: 'cancel' });
    expect(opened).toEqual([]);
  });

  test('returns cancel when the MCP server aborts or the input ends', async () => {
    const givenUp = new AbortController();
    const person = new ScriptedPerson(
      () => void givenUp.abort(),
      () => void person.input.end(),
    );
    const { terminal } = seat(person);
    expect(await terminal.handler(form, { ...context, signal: givenUp.signal })).toEqual({ action: 'cancel' });
    expect(await terminal.handler(form, context)).toEqual({ action: 'cancel' });
    expect(await terminal.handler(url, context)).toEqual({ action: 'cancel' });
  });

  test('handles one elicitation at a time', async () => {
    const person = new ScriptedPerson('y', 'n');
    const { terminal, opened } = seat(person);
    const second: UrlElicitation = { ...url, url: 'https://other.example/' };
    const answers = await Promise.all([terminal.handler(url, context), terminal.handler(second, context)]);
    expect(answers).toEqual([{ action: 'accept' }, { action: 'decline' }]);
    expect(opened).toEqual(['https://gate.example.com/e/1']);
  });

  test('a paste of several lines approves no later question', async () => {
    const person = new ScriptedPerson('Broken\n\n\n\n\ns', ':d');
    const { terminal } = seat(person);
    expect(await terminal.handler(form, context)).toEqual({ action: 'decline' });
  });

  test('lets the user end the wait for the browser', async () => {
    const person = new ScriptedPerson('?', '', 'c');
    const { terminal } = seat(person);
    const over = new AbortController();
    const wait = (attempt: number) => terminal.completionPrompt({ request: url, context, attempt }, over.signal);
    expect(await wait(1)).toBe('done');
    expect(await wait(2)).toBe('cancel');
    const third = wait(3);
    over.abort();
    expect(await third).toBeUndefined();
  });

  test('renders a hostile form as plain lines of text', async () => {
    const hostile = fc.string({ unit: 'binary', maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (message, title, description) => {
        const options = [{ const: 'a', title: `${title} 1` }];
        const properties = {
          text: { type: 'string', title, description },
          choice: { type: 'string', oneOf: options, title: description },
        };
        const request = parseElicitation({ message, requestedSchema: { type: 'object', properties } });
        const { action, person } = await answer(request, ['', '', 'e 1', ':d']);
        expect(action).toEqual({ action: 'decline' });
        for (const line of person.lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      }),
      { numRuns: 30 },
    );
  });

  test('prints text of an MCP server only as plain text on lines marked as quoted', async () => {
    const hostile = fc.string({ unit: 'binary', maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (message, name, tail) => {
        const request = {
          ...url,
          message: `${message}\n${tail}`,
          url: `https://${encodeURIComponent(name)}@a.example/${tail}`,
        };
        const mcpServer = { id: 'issues', claimedName: name };
        const { person } = await answer(request, ['n'], { ...context, mcpServer, toolName: tail });
        for (const line of person.lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        const own = person.lines.filter(
          line => !/^ {2}(?:It calls itself|For the tool|Careful|Address)| {4}\| /.test(line),
        );
        expect(own.length).toBeLessThanOrEqual(9);
      }),
      { numRuns: 30 },
    );
  });
});
