import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

// A process of its own: another test file of this worker may have loaded the modules already.
test.each(['./index.ts', './v1.ts'])('S96: %s does not load with NODE_ENV=production', path => {
  const load = `import(${JSON.stringify(import.meta.resolve(path))}).catch(({ code }) => console.log(code))`;
  const { stdout } = spawnSync(process.execPath, ['--eval', load], {
    env: { ...process.env, NODE_ENV: 'production' },
    encoding: 'utf8',
  });
  expect(stdout).toBe('testing_in_production\n');
});
