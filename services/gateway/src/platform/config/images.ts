import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { ConfigFault } from './config-error.ts';
import type { ParsedConfig } from './config-schema.ts';
import { type ImageType, readImage, type ServedImage } from './image-type.ts';

/** The maximum size of an image file. */
const MAX_BYTES = 256 * 1024;

const extensions: Readonly<Record<ImageType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/** The images that a configuration names, with their paths in the configuration. */
function imagesIn({ branding, mcpServers, providers }: ParsedConfig): { readonly at: string; readonly name: string }[] {
  const named = (at: string, name: string | undefined) => (name === undefined ? [] : [{ at, name }]);
  const logo = (at: string, images: { readonly light: string; readonly dark?: string | undefined } | undefined) =>
    images === undefined ? [] : [...named(`${at}.light`, images.light), ...named(`${at}.dark`, images.dark)];
  return [
    ...logo('branding.logo', branding.logo),
    ...named('branding.icon', branding.icon),
    ...mcpServers.flatMap((mcpServer, index) => [
      ...logo(`mcpServers[${index}].logo`, mcpServer.logo),
      ...logo(`mcpServers[${index}].branding.logo`, mcpServer.branding?.logo),
    ]),
    ...providers.flatMap((provider, index) => logo(`providers[${index}].logo`, provider.logo)),
  ];
}

/**
 * Reads every image that a configuration names, by file name. Later changes of the files have no effect on what is served.
 * @param onFile called with the path of each file, even if it cannot be read
 */
export function readImages(
  config: ParsedConfig,
  onFile: (path: string) => void,
): { readonly images: ReadonlyMap<string, ServedImage>; readonly faults: readonly ConfigFault[] } {
  const images = new Map<string, ServedImage>();
  const faults: ConfigFault[] = [];
  const named = imagesIn(config);
  const { imagesFolder } = config.branding;
  if (named[0] !== undefined && imagesFolder === undefined) {
    return { images, faults: [{ path: named[0].at, message: 'needs branding.imagesFolder' }] };
  }
  for (const { at, name } of named) {
    if (imagesFolder === undefined || images.has(name)) continue;
    onFile(join(imagesFolder, name));
    const bytes = readFile(imagesFolder, name);
    const facts = typeof bytes === 'string' ? bytes : readImage(bytes);
    if (typeof bytes === 'string' || typeof facts === 'string')
      faults.push({ path: at, message: `${name} ${String(facts)}` });
    else {
      const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
      images.set(name, { ...facts, path: `/images/${hash}.${extensions[facts.type]}`, body: bytes });
    }
  }
  return { images, faults };
}

/** Returns the content of a regular file inside the folder, or why it was not read. */
function readFile(folder: string, name: string): Buffer | string {
  let descriptor: number | undefined;
  try {
    // A link within the folder is how Kubernetes mounts files; a link that leads out of it could publish any file.
    const root = realpathSync(resolve(folder));
    const file = realpathSync(join(root, name));
    if (!file.startsWith(root.endsWith(sep) ? root : root + sep))
      return 'is a link that leads out of branding.imagesFolder';
    // The checked file itself, even if it has become a link since; a pipe does not block.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return 'is no regular file';
    if (stats.size > MAX_BYTES) return `has ${stats.size} bytes, and ${MAX_BYTES} is the maximum`;
    const bytes = Buffer.alloc(stats.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, length);
    return bytes.subarray(0, length);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return code === 'ENOENT' ? 'does not exist in branding.imagesFolder' : `cannot be read (${code})`;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
