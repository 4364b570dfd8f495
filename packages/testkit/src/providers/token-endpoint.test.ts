import { expect, it } from 'vitest';
import { startProvider } from './flow.test-support.ts';
import { switchesOf } from './open-id-provider-options.ts';
import { TokenEndpoint } from './token-endpoint.ts';
import { TokenLedger } from './token-ledger.ts';

it('handles refreshes with the same refresh token one after another, and others concurrently', async () => {
  const endpoint = new TokenEndpoint({ ledger: new TokenLedger(), switches: switchesOf({ clients: [] }) });
  await using op = await startProvider();
  const entered: string[] = [];
  const gates = new Map<string, () => void>();
  const handle = (name: string, refreshToken: string) =>
    endpoint.handle(
      new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
      { status: 400 },
      op.provider,
      () => {
        entered.push(name);
        return new Promise<void>(resolve => gates.set(name, resolve));
      },
    );
  const [first, second, third] = [handle('first', 'same'), handle('second', 'same'), handle('third', 'same')];
  const other = handle('other', 'another');
  expect(entered).toEqual(['first', 'other']);
  gates.get('other')?.();
  await other;
  expect(entered).toEqual(['first', 'other']);
  gates.get('first')?.();
  await first;
  await expect.poll(() => entered).toEqual(['first', 'other', 'second']);
  gates.get('second')?.();
  await second;
  await expect.poll(() => entered).toEqual(['first', 'other', 'second', 'third']);
  gates.get('third')?.();
  await third;
});
