import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { interpolate } from './references.ts';

const directory = mkdtempSync(join(tmpdir(), 'postern-interpolate-'));
afterAll(() => rmSync(directory, { recursive: true }));

describe('references', () => {
  it('references are replaced in every text, however deep, and more than once', () => {
    const env = { A: 'one', B: 'two' };
    expect(interpolate({ x: ['${env:A}', { y: '${env:A}-${env:B}' }], n: 1, t: true, z: null }, env)).toEqual({
      x: ['one', { y: 'one-two' }],
      n: 1,
      t: true,
      z: null,
    });
  });

  it('references are not looked for in what they lead to', () => {
    expect(interpolate('${env:A}', { A: '${env:B}', B: 'secret' })).toBe('${env:B}');
  });

  it('keep `$` patterns of the value as they are', () => {
    expect(interpolate('a ${env:A}', { A: "$& $1 $' $$" })).toBe("a $& $1 $' $$");
  });

  it('references to a file give its text without the white space around it', () => {
    const path = join(directory, 'secret');
    writeFileSync(path, '\n  s3cret \n');
    expect(interpolate(`\${file:${path}}`, {})).toBe('s3cret');
  });

  it('references to an environment variable give its text without line breaks at its end', () => {
    expect(interpolate('x ${env:A}', { A: 's3cret\r\n' })).toBe('x s3cret');
    expect(interpolate('${env:A}', { A: '{\n"kty":"EC"\n}\n' })).toBe('{\n"kty":"EC"\n}');
    expect(interpolate('${env:A}', { A: ' ' })).toBe(' ');
    expect(() => interpolate('${env:A}', { A: '\n' })).toThrow(ConfigError);
  });

  it('references that lead nowhere are all named by path and name, never by value', () => {
    const document = {
      a: '${env:MISSING}',
      b: [{ c: `\${file:${directory}/none}` }],
      d: '${env:EMPTY}',
      e: '${env:OK}',
    };
    expect.assertions(3);
    try {
      interpolate(document, { EMPTY: '', OK: 'fine-value' });
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).faults.map(fault => fault.path)).toEqual(['a', 'b[0].c', 'd']);
      expect((error as ConfigError).message).not.toContain('fine-value');
    }
  });

  it('leaves other texts and keys alone', () => {
    expect(interpolate({ '${env:A}': '${other:A} $env:A ${env:}' }, { A: 'x' })).toEqual({
      '${env:A}': '${other:A} $env:A ${env:}',
    });
  });
});
