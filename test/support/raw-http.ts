import { once } from 'node:events';
import { connect } from 'node:net';

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

function parse(text: string): WireAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end === -1 ? 0 : end).split('\r\n');
  const headers = new Headers(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: text.slice(end + 4), text };
}
