import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The received bytes. */
  readonly text: string;
}

/** Sends raw bytes, which may be malformed HTTP, and reads until the gateway closes the connection. */
export async function sendBytes(address: string, bytes: string): Promise<WireAnswer> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.setEncoding('latin1');
  let text = '';
  socket.on('data', chunk => {
    text += String(chunk);
  });
  // After a refusal in the middle of a request, the connection may end with a reset.
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return parse(text);
}

/** Sends an incomplete request, and returns the status of the response: 0 if the gateway waits for the rest. */
export async function statusBeforeEnd(address: string, bytes: string): Promise<number> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  // Only a gateway that waits for the body takes so long.
  const [first] = await Promise.race([once(socket, 'data'), delay(5_000, [''], { ref: false })]);
  socket.destroy();
  return parse(`${String(first)}\r\n\r\n`).status;
}

function parse(text: string): WireAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end === -1 ? 0 : end).split('\r\n');
  const headers = new Headers(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: text.slice(end + 4), text };
}
