import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LITTLE_MEMORY } from '@postern/api/local';

/** For the gateway of one person. Node.js has no other way to set options of V8 in a running process. */
export function useLittleMemory(): void {
  for (const option of LITTLE_MEMORY) setFlagsFromString(option);
}

/** Returns what the start has left behind to the operating system, which V8 does by itself only when memory is short. Takes some 50 ms. */
export function giveMemoryBack(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
