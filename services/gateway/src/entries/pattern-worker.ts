import { parentPort } from 'node:worker_threads';
import { RE2JS } from 're2js';
import type { PatternAnswer, PatternJob } from './pattern-thread.ts';

/** Makes V8 compile the engine before the first job, whose processor time is limited. */
for (const warm of ['(?i)[^a-z]\\pL{2,}', '(?i)[a-z]{0,200}', '(?:a|b)*a(?:a|b){100}', '[0-9\\pL]{0,200}']) {
  answerTo({ pattern: warm });
  for (const part of ['whole', 'any'] as const) answerTo({ pattern: warm, text: 'ab1ä'.repeat(50), part });
}

function answerTo({ pattern, ...match }: PatternJob): PatternAnswer {
  try {
    const compiled = RE2JS.compile(pattern);
    if (match.text === undefined) return compiled.programSize();
    return match.part === 'whole' ? compiled.matches(match.text) : compiled.matcher(match.text).find();
  } catch {
    // A syntax error, or a pattern too deep for the stack.
    return 'invalid';
  }
}

const usedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

// Absent where the module is loaded only to fill the compile cache.
parentPort?.on('message', (job: PatternJob) => {
  const answer = answerTo(job);
  parentPort?.postMessage({ answer, usedMs: usedMs() });
});
parentPort?.postMessage({ usedMs: usedMs() });
