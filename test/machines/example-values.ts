import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './repository.ts';

/** The values of an example file of `infra`, filled in as its comments say. */
export interface ExampleValues {
  readonly values: Readonly<Record<string, string>>;
  /** The API key whose hash is among the values, where the file has one. */
  readonly apiKey: string | undefined;
}

/** Runs the command in the comment above an empty value. A value without a command comes from somebody else: a word will do. */
export function exampleValues(file: string): ExampleValues {
  const values: Record<string, string> = {};
  let command: string | undefined;
  let apiKey: string | undefined;
  for (const line of readFileSync(join(repository, file), 'utf8').split('\n')) {
    const [, written] = /^# ((?:openssl|key=).*?)(?:, for each)?$/.exec(line) ?? [];
    const [, name, value = ''] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
    if (written !== undefined) command = written;
    else if (line === '') command = undefined;
    if (name === undefined) continue;
    if (value !== '' || command === undefined) {
      values[name] = value === '' ? 'from-somebody-else' : value;
      continue;
    }
    const printed = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trim().split('\n');
    values[name] = printed.at(-1) ?? '';
    apiKey ??= printed.find(it => it.startsWith('key: '))?.slice('key: '.length);
  }
  return { values, apiKey };
}
