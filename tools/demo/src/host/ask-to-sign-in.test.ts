import { PassThrough } from 'node:stream';
import { createTerminal } from '@postern/host';
import { describe, expect, it } from 'vitest';
import { askToSignIn } from './ask-to-sign-in.ts';

async function ask(url: string, answer: string | undefined, canOpen = true) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const opened: string[] = [];
  let shown = '';
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (shown.endsWith('y/n: ') && answer !== undefined) input.write(`${answer}\n`);
  });
  using terminal = createTerminal({ input, output, colour: false });
  if (answer === undefined) input.end();
  const agreed = await askToSignIn(terminal, new URL(url), async href => {
    opened.push(href);
    return canOpen;
  });
  return { agreed, opened, shown };
}

const SIGN_IN = 'https://id.example.com/authorize?client_id=terminal-host';

describe('askToSignIn', () => {
  it('shows the whole address and opens it after a yes', async () => {
    const { agreed, opened, shown } = await ask(SIGN_IN, 'y');
    expect({ agreed, opened }).toEqual({ agreed: true, opened: [SIGN_IN] });
    expect(shown).toContain(SIGN_IN);
  });

  it.each(['n', '', 'maybe', undefined])('opens nothing after %j', async answer => {
    expect(await ask(SIGN_IN, answer)).toMatchObject({ agreed: false, opened: [] });
  });

  it('continues without a browser: the user opens the address', async () => {
    expect(await ask(SIGN_IN, 'yes', false)).toMatchObject({ agreed: true });
  });

  it.each(['file:///etc/passwd', 'javascript:alert(1)', 'myapp://callback'])('does not offer %s', async url => {
    const { agreed, opened, shown } = await ask(url, 'y');
    expect({ agreed, opened, shown }).toEqual({ agreed: false, opened: [], shown: '' });
  });

  it('warns about odd addresses', async () => {
    expect((await ask('http://id.example.com/', 'n')).shown).toContain('Careful: not encrypted.');
  });
});
