import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { paymentPolicy } from '../support/asks.ts';
import { answerCeremony, ceremonyIn } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import { startOperatorReceiver } from '../support/webhook-receiver.ts';
import { startWorld, type World } from '../support/world.ts';

const stack = new AsyncDisposableStack();
let world: World;
let receiver: Awaited<ReturnType<typeof startOperatorReceiver>>;
let configPath: string;
beforeAll(async () => {
  receiver = stack.use(await startOperatorReceiver());
  const operatorWebhooks = [{ id: 'ops', url: receiver.url, secrets: [receiver.secret] }];
  world = stack.use(
    await startWorld({
      sweepPauseMs: 20,
      config: { operatorWebhooks },
      mcpServer: { payment: paymentPolicy({ passkeyAbove: { EUR: 2000 } }) },
    }),
  );
  const folder = await mkdtemp(join(tmpdir(), 'postern-operator-'));
  stack.defer(() => rm(folder, { recursive: true }));
  configPath = join(folder, 'config.yaml');
  await writeFile(configPath, JSON.stringify(world.config));
});
afterAll(() => stack.disposeAsync());

const { enrolled } = createPasskeyPeople(() => world);

/** Runs a `postern` command. */
async function cli(...args: string[]): Promise<string> {
  const { code, out } = await runCommand([...args, '-c', configPath]);
  expect(code).toBe(0);
  return out.trim();
}

it('S87: the operator webhook about an added, removed or reset passkey contains only the user’s pseudonym', async () => {
  const [removing, lost] = [await enrolled(), await enrolled()];
  const path = /\/me\/passkeys\/[^/"]+\/remove/.exec((await removing.raw.get('/me')).body)?.[0] ?? '';
  const page = ceremonyIn(await removing.raw.get(path));
  const removed = await answerCeremony(removing.raw, page, removing.authenticator.get(page.options));
  expect(removed.status).toBe(200);
  const { issuer } = world.identityProvider;
  await cli('passkeys', 'reset', issuer, lost.user, '--reason', 'lost device');

  await vi.waitFor(() => expect(receiver.received).toHaveLength(4), { timeout: 100_000, interval: 20 });
  const types = receiver.received.map(({ id, payload: { type, data } }) => {
    expect(data.eventId).toBe(id);
    return `${type} ${data.pseudonym}`;
  });
  const pseudonymOf = (user: string) => cli('audit', 'pseudonym', issuer, user);
  const [one, other] = [await pseudonymOf(removing.user), await pseudonymOf(lost.user)];
  expect(types.toSorted()).toEqual(
    [
      ...[`passkey.added ${one}`, `passkey.removed ${one}`],
      ...[`passkey.added ${other}`, `passkey.reset ${other}`],
    ].toSorted(),
  );
  // The reference library verifies the delivery, and it has no members outside the contract.
  expect(receiver.refused).toEqual([]);
  for (const { body } of receiver.received)
    for (const said of [removing.user, lost.user, issuer]) expect(body).not.toContain(said);
  expect(world.log()).not.toContain(receiver.secret.slice(6));
  expect(await cli('webhooks', 'list')).toMatch(/^operator\/ops /m);
});
