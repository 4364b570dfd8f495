import { Writable } from 'node:stream';

/** Keeps the log of the gateway in memory. */
export interface GatewayLog {
  readonly destination: NodeJS.WritableStream;
  readonly text: () => string;
}

export function createGatewayLog(): GatewayLog {
  const chunks: string[] = [];
  const text = () => chunks.join('');
  return {
    destination: new Writable({
      write(chunk: Buffer, _, done) {
        chunks.push(chunk.toString('utf8'));
        done();
      },
    }),
    text,
  };
}
