/**
 * The floor that no gateway can beat: a process with a bare `node:http` handler that only sends Redis the same commands. Two of them
 * replace two gateways. Argument: a JSON file with the address of Redis, the commands and the wake-up channels.
 */
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { type CapturedCommand, filled } from '../support/captured-command.ts';
import type { FloorSettings } from '../support/floor.ts';

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FloorSettings;
const redis = new Redis(settings.redisUrl);
const listening = new Redis(settings.redisUrl);
const waiting = new Map<string, ServerResponse>();

const send = ({ name, values }: CapturedCommand, id: string) => redis.call(name, filled({ name, values }, id));

async function answer(response: ServerResponse, command: CapturedCommand, id: string): Promise<void> {
  const found = await send(command, id);
  // The scripts return `missing` and `conflict`; an absent record is empty.
  const [word] = Array.isArray(found) ? found : [found];
  if (!word || word === 'missing' || word === 'conflict') throw new Error(`${command.name} answered ${String(found)}`);
  response.setHeader('content-type', 'application/json').end('{"status":"cancelled"}');
}

const server = createServer((request, response) => {
  const id = /[a-z]{2}_[\w-]{45}/.exec(request.url ?? '')?.[0] ?? '';
  if (request.method === 'POST') {
    void (async () => {
      for (const command of settings.cancel.slice(0, -1)) await send(command, id);
      for (const command of settings.cancel.slice(-1)) await answer(response, command, id);
    })();
  } else if (request.url?.includes('?wait=') === true) {
    waiting.set(id, response);
    // A waiter has read before.
    void send(settings.read, id);
  } else {
    void answer(response, settings.read, id);
  }
});
listening.on('message', (_channel: string, id: string) => {
  const response = waiting.get(id);
  if (response === undefined) return;
  waiting.delete(id);
  void answer(response, settings.read, id);
});
await listening.subscribe(...settings.channels);
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('SIGTERM', () => process.exit(0));
