import { check } from '../report.ts';
import type { Stage } from '../stage.ts';

/** Searches MCP messages and the log for every secret that Code Forge issued or a user typed. */
export async function tellOfLeaks({ report, world, frames, log, typed }: Stage): Promise<void> {
  const { codeForge, weatherStation } = world;
  const secrets = new Set([...codeForge.issuedSecrets(), ...weatherStation.issuedKeys(), ...typed]);
  const seen = frames.frames.join('\n');
  await report.step(
    `Code Forge issued ${codeForge.issuedSecrets().size} codes and tokens, and its API was called with them`,
    async () => {
      // Two people connected twice each, with a code, an access token and a refresh token per connection; one refresh.
      check(codeForge.issuedSecrets().size >= 14, 'too few secrets');
      check(codeForge.authorizedCalls() >= 9, 'too few API calls');
    },
  );
  await report.step(`People typed ${typed.size} secrets into pages of Postern, and the tools used them`, async () => {
    // Alice's three keys (one was wrong), Bob's key, and the code of the locker.
    check(typed.size === 5, 'expected five secrets');
    check(
      weatherStation.forecastsFor('alice') + weatherStation.forecastsFor('bob') === 4,
      'the tools did not use them',
    );
  });
  await report.step(
    `None of them is in the ${frames.frames.length} MCP messages of both hosts (${kib(seen)} KiB)`,
    async () => {
      check(seen.includes('alice-codes/garden-planner'), 'the messages were not recorded');
      check(![...secrets].some(secret => seen.includes(secret)), 'a secret went over MCP');
    },
  );
  await report.step(`None of them is in the log of the gateway (${kib(log.text())} KiB)`, async () => {
    check(log.text().includes('"event"'), 'the log was not recorded');
    check(![...secrets].some(secret => log.text().includes(secret)), 'a secret was logged');
  });
}

const kib = (text: string): string => (Buffer.byteLength(text) / 1024).toFixed(1);
