/** The largest width and height of an image, in pixels: browsers decode all of them. */
const MAX_SIDE = 2048;

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp';

interface ImageFacts {
  readonly type: ImageType;
  readonly width: number;
  readonly height: number;
}

/** An image of the operator, as it was when the configuration was read. */
export interface ServedImage extends ImageFacts {
  /** Contains a hash of the content, so that caches may keep it forever. */
  readonly path: string;
  readonly body: Buffer;
}

/**
 * Reads the type and size of an image from its headers, and follows its parts to the end of the file. Decodes nothing. Returns a fault
 * for any other format, for bytes behind the image, which another program could read as another format, and for a size out of bounds.
 */
export function readImage(bytes: Buffer): ImageFacts | string {
  const facts = pngFacts(bytes) ?? jpegFacts(bytes) ?? webpFacts(bytes);
  if (facts === undefined) return otherFormat(bytes);
  if (typeof facts === 'string') return facts;
  const { width, height } = facts;
  return [width, height].every(side => side >= 1 && side <= MAX_SIDE)
    ? facts
    : `is ${width} by ${height} pixels, and ${MAX_SIDE} by ${MAX_SIDE} is the maximum`;
}

const DAMAGED = 'is damaged or has other data behind the image; save it again with an image editor';

function otherFormat(bytes: Buffer): string {
  const start = bytes.subarray(0, 1024).toString('latin1');
  if (bytes.length === 0) return 'is empty';
  if (/<(?:\?xml|!doctype|svg)/i.test(start))
    return 'is no PNG, JPEG or WebP; SVG can contain scripts, so save it as PNG or WebP';
  return 'is no PNG, JPEG or WebP';
}

/** PNG (W3C, third edition), sections 5.2 and 11.2.1. */
function pngFacts(bytes: Buffer): ImageFacts | string | undefined {
  if (!bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return undefined;
  let size: { width: number; height: number } | undefined;
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (at === 8) {
      if (type !== 'IHDR' || length !== 13 || bytes.length < 33) return DAMAGED;
      size = { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
    }
    at += 12 + length;
    if (type === 'IEND') return at === bytes.length && size !== undefined ? { type: 'image/png', ...size } : DAMAGED;
  }
  return DAMAGED;
}

/** JPEG (ITU-T T.81), annex B: segments up to the scan, which ends the file. */
function jpegFacts(bytes: Buffer): ImageFacts | string | undefined {
  if (!bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return undefined;
  const endsWell = bytes.at(-2) === 0xff && bytes.at(-1) === 0xd9;
  let size: { width: number; height: number } | undefined;
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0;
    // Frame headers of all coding processes, without DHT, JPG and DAC.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      size = { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    if (marker === 0xda) return endsWell && size !== undefined ? { type: 'image/jpeg', ...size } : DAMAGED;
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return DAMAGED;
}

/** WebP (RFC 9649), section 2. */
function webpFacts(bytes: Buffer): ImageFacts | string | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  if (bytes.length < 30 || bytes.readUInt32LE(4) + 8 !== bytes.length) return DAMAGED;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { type: 'image/webp', width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21);
      return { type: 'image/webp', width: 1 + (packed & 0x3fff), height: 1 + ((packed >>> 14) & 0x3fff) };
    }
    case 'VP8 ':
      return { type: 'image/webp', width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return DAMAGED;
  }
}
