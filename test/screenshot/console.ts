/**
 * `pnpm console-screenshot`: writes the pictures of docs/console.md, from a gateway with a few elicitations.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sharedBrowser } from '@postern/testkit/chromium';
import { consoleAddress, operators, signedIn, startConsoleWorld } from '../console/console-world.ts';
import { apiKeyRequest, bookTerms, deletion, issueFor } from '../support/asks.ts';

const docs = join(import.meta.dirname, '../../docs');
const SIZE = { width: 1280, height: 800 };

async function takePictures(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startConsoleWorld({ payment: {} }));
  const ended: string[] = [];
  for (const person of ['alice', 'bob', 'carol', 'dan', 'erin', 'frank']) {
    const { elicitationId } = await world.ask(person);
    ended.push(elicitationId);
    await issueFor(world, person, { kind: 'payment', payment: { ...bookTerms, reference: `order-${person}` } });
    await issueFor(world, person, { kind: 'confirmation', confirmation: deletion });
    await issueFor(world, person, { kind: 'credential', credential: apiKeyRequest });
  }
  for (const elicitationId of ended.slice(2)) await world.api.cancel(elicitationId);

  const operator = await signedIn(world, operators.operator);
  const url = consoleAddress(world);
  const browser = await sharedBrowser();
  stack.defer(() => browser.close());
  // The relay counts what happened shortly after it did.
  while (!(await operator.get('/')).body.includes('payment')) await delay(500);
  const pictures = [
    { name: 'list', path: '/elicitations', colorScheme: 'light' },
    { name: 'overview', path: '/', colorScheme: 'light' },
    { name: 'timeline', path: `/elicitations/${ended.at(-1)}`, colorScheme: 'dark' },
  ] as const;
  for (const { name, path, colorScheme } of pictures) {
    const context = await browser.newContext({ viewport: SIZE, colorScheme, deviceScaleFactor: 1.5 });
    await context.addCookies([...operator.cookies].map(([name, value]) => ({ name, value, url })));
    const page = await context.newPage();
    await page.goto(`${url}${path}`);
    await page.screenshot({ path: join(docs, `console-${name}-${colorScheme}.png`) });
    await context.close();
  }
}

await takePictures();
// The Redis that tests share ends with its process.
process.exit();
