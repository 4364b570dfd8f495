import type { RecordLayout } from '@postern/elicitation';
import { isAbsent, textOf } from '../reply.ts';

/**
 * Redis keeps a hash in one piece of memory as long as none of its values is longer than 64 bytes (`hash-max-listpack-value`), and
 * otherwise takes about twice as much. So in layout 2 a short record goes on in further fields. It is cut between characters: what
 * is in each of them is text.
 */
const LONGEST = 64;
const FURTHER = ['r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'] as const;

/** The fields of a record; a long one has the first of them only. */
export const RECORD_FIELDS = ['record', ...FURTHER] as const;

/** Names and values, to be set together. */
export function recordFields(record: string, layout: RecordLayout): readonly string[] {
  const pieces = layout === 1 ? undefined : piecesOf(record);
  return pieces === undefined ? ['record', record] : pieces.flatMap((piece, at) => [RECORD_FIELDS[at] ?? '', piece]);
}

/** Undefined for one that is too long to be cut. */
function piecesOf(record: string): readonly string[] | undefined {
  if (record.length > LONGEST * RECORD_FIELDS.length) return undefined;
  const bytes = Buffer.from(record);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + LONGEST, bytes.length);
    while (isWithinCharacter(bytes[to])) to -= 1;
    pieces.push(bytes.toString('utf8', from, to));
    from = to;
  }
  return pieces.length > RECORD_FIELDS.length ? undefined : pieces;
}

/** UTF-8: every byte of a character but its first is 10xxxxxx. */
const isWithinCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** @param values of RECORD_FIELDS. */
export function joinedRecord(values: readonly unknown[]): string {
  return values.map(value => (isAbsent(value) ? '' : textOf(value))).join('');
}
