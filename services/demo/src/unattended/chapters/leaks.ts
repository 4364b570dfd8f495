import { check } from '../report.ts';
import type { Stage } from '../stage.ts';

/** Canaries: who issued or typed a secret knows it, and none of them may have been seen anywhere else. */
export async function tellOfLeaks({ report, world, frames, log, typed }: Stage): Promise<void> {
  report.chapter('What the MCP clients and the model have seen');
  const { codeForge, weatherStation } = world;
  const secrets = new Set([...codeForge.issuedSecrets(), ...weatherStation.issuedKeys(), ...typed]);
  const seen = frames.frames.join('\n');
  await report.step(
    `Code Forge issued ${codeForge.issuedSecrets().size} codes and tokens, and its API was called with them`,
    async () => {
      // Two people, who connected twice each: a code, an access token and a refresh token every time. A refresh besides.
      check(codeForge.issuedSecrets().size >= 14, 'too few for this to prove anything');
      check(codeForge.authorizedCalls() >= 9, 'too few API calls');
    },
  );
  await report.step(`People typed ${typed.size} secrets into pages of Postern, and the tools used them`, async () => {
    // Alice's keys, a wrong one among them, Bob's key, and the code of the locker.
    check(typed.size === 5, 'there must be five');
    check(weatherStation.forecastsFor('alice') + weatherStation.forecastsFor('bob') === 4, 'they were not used');
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
