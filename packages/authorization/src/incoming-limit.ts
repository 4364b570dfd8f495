import type { Socket } from 'node:net';
import { OutboundError } from './outbound-error.ts';

/** For headers, and for the framing of a body in chunks. */
const overheadBytes = 64 * 1024;

/**
 * Ends a connection once more has come on it than the answer to one request may have, framing included. An HTTP library reads some
 * parts of an answer without a limit and without telling anybody: interim responses, chunk extensions, the reason phrase.
 * @param maxBytes of a body. Twice that may come, since a body in chunks is larger on the wire.
 */
export function limitIncoming(socket: Socket, maxBytes: number, host: string): void {
  const maxIncoming = 2 * maxBytes + overheadBytes;
  let written = socket.bytesWritten;
  let before = socket.bytesRead;
  // A listener for `data` would take the bytes away from the library.
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      // Another request has been sent since, and only then: one connection carries one request at a time.
      written = socket.bytesWritten;
      before = socket.bytesRead;
    }
    if (socket.bytesRead - before > maxIncoming) socket.destroy(new OutboundError('outbound_too_large', host));
  });
}
