import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A response that never changes under its path. */
export interface Asset {
  readonly type: string;
  readonly body: string | Buffer;
}

/** In the order of preference. */
const encoders = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }),
  gzip: (body: Buffer) => promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION }),
  identity: async (body: Buffer) => body,
};
type Encoding = keyof typeof encoders;

interface Encoded {
  readonly body: Buffer;
  readonly tag: string;
}

/** An asset is compressed on the first request for the encoding, in the thread pool, and kept as long as the asset is. */
const kept = new WeakMap<Asset, Map<Encoding, Promise<Encoded>>>();

/**
 * Sends a file that is the same for every client, in the best encoding that the client accepts. Never for a response that holds a token:
 * the length of a compressed page reveals its content to an attacker who can add text to it (BREACH).
 */
export async function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<FastifyReply> {
  const isText = asset.type.startsWith('text/');
  const encoding = isText ? bestEncoding(request.headers['accept-encoding']) : 'identity';
  const { body, tag } = await encoded(asset, encoding);
  reply.type(asset.type).headers({ etag: tag, 'accept-ranges': 'none' });
  if (isText) reply.header('vary', 'Accept-Encoding');
  const known = request.headers['if-none-match']?.split(',').map(part => part.trim().replace(/^W\//, ''));
  if (known?.includes(tag) === true) return reply.code(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(body);
}

function encoded(asset: Asset, encoding: Encoding): Promise<Encoded> {
  const variants = kept.get(asset) ?? new Map<Encoding, Promise<Encoded>>();
  kept.set(asset, variants);
  const found = variants.get(encoding) ?? encode(asset, encoding);
  variants.set(encoding, found);
  return found;
}

async function encode(asset: Asset, encoding: Encoding): Promise<Encoded> {
  const original = Buffer.from(asset.body);
  const hash = createHash('sha256').update(original).digest('base64url').slice(0, 16);
  return { body: await encoders[encoding](original), tag: `"${hash}-${encoding}"` };
}

/** RFC 9110 section 12.5.3. Of encodings that the client likes the same, the smaller one. */
function bestEncoding(accepted = ''): Encoding {
  const weights = new Map(
    accepted.split(',').map(part => {
      const [name = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase());
      const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
    }),
  );
  const weightOf = (name: Encoding) => weights.get(name) ?? weights.get('*') ?? 0;
  const [br, gzip] = [weightOf('br'), weightOf('gzip')];
  if (br === 0 && gzip === 0) return 'identity';
  return br >= gzip ? 'br' : 'gzip';
}
