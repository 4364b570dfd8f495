/** An HTTP response that follows the protocol. */
export interface HonestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Bytes for the socket, valid HTTP or not, and the state of the connection afterwards. */
export interface RawAnswer {
  readonly bytes: Buffer;
  /**
   * `keep`: open for the next request · `end`: closed · `reset`: closed with RST · `silence`: open, without further data ·
   * `drip`: open, followed by single bytes until the client disconnects · `flood`: open, and `piece` repeats as fast as the
   * client reads
   */
  readonly after: 'keep' | 'end' | 'reset' | 'silence' | 'drip' | 'flood';
  readonly piece?: Buffer;
}

/** Turns the correct response into a wrong one. */
export type Damage = (honest: HonestAnswer) => RawAnswer;

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A response with exactly these headers. */
export function raw(status: number | string, headers: HeaderList, body: string | Buffer = ''): Buffer {
  const head = [`HTTP/1.1 ${status} X`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

/** A response with a body of the stated length. */
export function whole(status: number, body: string | Buffer, headers: HeaderList = []): RawAnswer {
  const length = Buffer.byteLength(body);
  const hasType = headers.some(([name]) => name === 'content-type');
  return {
    bytes: raw(
      status,
      [
        ...(hasType ? [] : [['content-type', 'application/json'] as const]),
        ...headers,
        ['content-length', `${length}`],
      ],
      body,
    ),
    after: 'keep',
  };
}
