import { randomFillSync } from 'node:crypto';

const ID_BYTES = 12;
/** Random bytes are fetched for many ids at once: fetching costs more than what is fetched. */
const pool = Buffer.alloc(ID_BYTES * 256);
let used = pool.length;

/** Our own, always: an id chosen by the caller would let him write into our log. */
export function requestIdOf(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `rq_${pool.toString('base64url', used - ID_BYTES, used)}`;
}
