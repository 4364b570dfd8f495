import { DockerfileParser } from 'dockerfile-ast';
import { z } from 'zod';

/** One instruction that changes the image or says how it runs. */
export type Step =
  | { readonly kind: 'env' | 'label'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'workdir'; readonly path: string }
  | { readonly kind: 'copy'; readonly from?: string; readonly source: string; readonly target: string }
  | { readonly kind: 'run'; readonly command: string; readonly caches: readonly string[] }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'stopsignal'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'cmd'; readonly command: readonly string[] }
  | { readonly kind: 'healthcheck'; readonly command: readonly string[] }
  | { readonly kind: 'expose'; readonly port: number };

export interface Stage {
  readonly base: string;
  readonly name: string;
  readonly steps: readonly Step[];
}

interface Instruction {
  readonly keyword: string;
  /** Without flags, line continuations kept. */
  readonly text: string;
  readonly flags: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

const signal = z.literal(['SIGTERM', 'SIGINT', 'SIGQUIT']);
const execForm = z.array(z.string()).min(1);

/** Reads the instructions that our Dockerfile uses. @throws for every other instruction, flag or form */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: { base: string; name: string; steps: Step[] }[] = [];
  for (const instruction of instructionsOf(text)) {
    if (instruction.keyword === 'FROM') {
      const [, base = '', name = ''] = /^(\S+) AS (\S+)$/.exec(instruction.text) ?? refuse(instruction);
      stages.push({ base, name, steps: [] });
    } else {
      (stages.at(-1) ?? refuse(instruction)).steps.push(stepOf(instruction));
    }
  }
  return stages;
}

function instructionsOf(text: string): readonly Instruction[] {
  return DockerfileParser.parse(text)
    .getInstructions()
    .map(instruction => ({
      keyword: instruction.getKeyword(),
      text: instruction.getRawArgumentsContent() ?? '',
      flags: 'getFlags' in instruction ? z.array(z.unknown()).parse(call(instruction, 'getFlags')).map(String) : [],
      values: 'getProperties' in instruction ? valuesOf(call(instruction, 'getProperties')) : {},
    }));
}

/** Only some classes of the parser have the method. */
function call(instruction: object, method: string): unknown {
  const found: unknown = Reflect.get(instruction, method);
  return typeof found === 'function' ? Reflect.apply(found, instruction, []) : undefined;
}

function valuesOf(properties: unknown): Readonly<Record<string, string>> {
  const named = z.array(z.custom<{ getName(): string; getValue(): string | null }>()).parse(properties);
  return Object.fromEntries(named.map(property => [property.getName(), property.getValue() ?? '']));
}

function stepOf(instruction: Instruction): Step {
  const { keyword, text, flags } = instruction;
  // Variables of a builder are not filled in here.
  if (keyword !== 'RUN' && keyword !== 'CMD' && keyword !== 'HEALTHCHECK' && text.includes('$')) refuse(instruction);
  if (flags.length > 0 && keyword !== 'COPY' && keyword !== 'RUN' && keyword !== 'HEALTHCHECK') refuse(instruction);
  switch (keyword) {
    case 'ENV':
      return { kind: 'env', values: instruction.values };
    case 'LABEL':
      return { kind: 'label', values: instruction.values };
    case 'STOPSIGNAL':
      return { kind: 'stopsignal', signal: signal.parse(text) };
    case 'WORKDIR':
      return { kind: 'workdir', path: text };
    case 'USER':
      return { kind: 'user', name: text };
    case 'EXPOSE':
      return { kind: 'expose', port: z.coerce.number().int().parse(text) };
    case 'CMD':
      return { kind: 'cmd', command: execForm.parse(JSON.parse(text)) };
    case 'HEALTHCHECK':
      return { kind: 'healthcheck', command: execForm.parse(JSON.parse(text.replace(/^CMD /, ''))) };
    case 'RUN':
      return { kind: 'run', command: text, caches: flags.map(flag => cacheOf(flag) ?? refuse(instruction)) };
    case 'COPY': {
      const [, source = '', target = ''] = /^(\S+) (\S+)$/.exec(text) ?? refuse(instruction);
      const [flag] = flags;
      if (flag === undefined) return { kind: 'copy', source, target };
      const [, from = ''] = (flags.length === 1 && /^--from=(\S+)$/.exec(flag)) || refuse(instruction);
      return { kind: 'copy', from, source, target };
    }
    default:
      return refuse(instruction);
  }
}

function cacheOf(flag: string): string | undefined {
  return /^--mount=type=cache,target=(\/\S+)$/.exec(flag)?.[1];
}

function refuse({ keyword, flags, text }: Instruction): never {
  throw new SyntaxError(`this reader does not know: ${[keyword, ...flags, text].join(' ')}`);
}
