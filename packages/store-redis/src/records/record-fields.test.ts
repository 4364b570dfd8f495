import { describe, expect, test } from 'vitest';
import { joinedRecord, RECORD_FIELDS, recordFields } from './record-fields.ts';

/** As Redis answers HMGET: null for a field that is not there. */
function read(fields: readonly string[]): readonly (string | null)[] {
  return RECORD_FIELDS.map(name => {
    const at = fields.indexOf(name);
    return at === -1 ? null : (fields[at + 1] ?? null);
  });
}

const valuesOf = (fields: readonly string[]) => fields.filter((_, at) => at % 2 === 1);

test('layout 1 is one field, however long', () => {
  const record = 'x'.repeat(300);
  expect(recordFields(record, 1)).toEqual(['record', record]);
});

describe('layout 2', () => {
  test.each([
    ['', []],
    ['x'.repeat(64), [64]],
    ['x'.repeat(65), [64, 1]],
    ['x'.repeat(512), [64, 64, 64, 64, 64, 64, 64, 64]],
    ['x'.repeat(513), [513]],
    // Cut between characters: of 3 bytes each, 21 fit.
    ['語'.repeat(22), [63, 3]],
    // That needs a ninth field.
    ['語'.repeat(170), [510]],
  ])('of %s', (record, lengths) => {
    const fields = recordFields(record, 2);
    expect(valuesOf(fields).map(value => Buffer.byteLength(value))).toEqual(lengths);
    expect(joinedRecord(read(fields))).toBe(record);
  });

  test.each(['aé', 'a語', 'a👩‍👩‍👧'])(
    'no piece is longer than 64 bytes, and none ends within a character: %s',
    unit => {
      for (let pad = 0; pad < 64; pad += 1) {
        const record = `${'.'.repeat(pad)}${unit.repeat(12)}`;
        const fields = recordFields(record, 2);
        expect(joinedRecord(read(fields))).toBe(record);
        for (const value of valuesOf(fields)) {
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(64);
          expect(value.isWellFormed()).toBe(true);
        }
      }
    },
  );
});
