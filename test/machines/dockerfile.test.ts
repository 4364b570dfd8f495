import { expect, test } from 'vitest';
import { readDockerfile } from './dockerfile.ts';

test('reads stages and steps, with flags and continued lines', () => {
  const text = String.raw`FROM a:1 AS one
ENV A=b C="d e"
RUN --mount=type=cache,target=/c first \
    && second
# a comment
FROM one AS two
COPY --from=one /x /y
HEALTHCHECK --interval=1s CMD ["probe", "--now"]
CMD ["run"]
`;
  expect(readDockerfile(text)).toEqual([
    {
      base: 'a:1',
      name: 'one',
      steps: [
        { kind: 'env', values: { A: 'b', C: 'd e' } },
        { kind: 'run', command: 'first \\\n    && second', caches: ['/c'] },
      ],
    },
    {
      base: 'one',
      name: 'two',
      steps: [
        { kind: 'copy', from: 'one', source: '/x', target: '/y' },
        { kind: 'healthcheck', command: ['probe', '--now'] },
        { kind: 'cmd', command: ['run'] },
      ],
    },
  ]);
});

test.each([
  'ADD a b',
  'ENTRYPOINT ["x"]',
  'ARG A=1',
  'COPY --chown=node a b',
  'COPY a b c',
  'COPY $A b',
  'RUN --network=none x',
  'CMD run it',
  'ONBUILD RUN x',
])('refuses what a builder would treat in a way that is not known here: %s', instruction => {
  expect(() => readDockerfile(`FROM a AS b\n${instruction}\n`)).toThrow();
});
