import { Writable } from 'node:stream';

/** The gateway's log, in memory. */
export interface GatewayLog {
  readonly destination: NodeJS.WritableStream;
  readonly text: () => string;
  /** Lines of level warn and above. */
  readonly troubles: () => readonly string[];
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
    troubles: () =>
      text()
        .split('\n')
        .filter(line => /"level":"(warn|error|fatal)"/.test(line)),
  };
}
