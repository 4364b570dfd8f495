import { type FormValue, looksSecret, mentionsSecret, parseFormContent } from '@postern/api';
import type { ElicitationAnswer, FormElicitation } from '../elicitation.ts';
import { inertLine } from '../inert.ts';
import { kindText, labelOf, optionLines, optionsOf, valueText } from './field-text.ts';
import type { PlainConsole } from './plain-console.ts';
import { type Field, readField, SKIP } from './read-field.ts';

type Ending = 'decline' | 'cancel';

const SECRET_WARNING =
  'Careful: this seems to ask for a password, key or token. What you type goes through this program to the MCP server. Leave it out or :decline.';

/** Asks for each field, then shows all values for review before submitting them. */
export class FormDialogue {
  readonly #lines: PlainConsole;
  readonly #signal: AbortSignal;
  readonly #request: FormElicitation;
  readonly #fields: readonly Field[];
  readonly #values = new Map<string, FormValue>();

  constructor(lines: PlainConsole, request: FormElicitation, signal: AbortSignal) {
    this.#lines = lines;
    this.#signal = signal;
    this.#request = request;
    const { properties, required = [] } = request.requestedSchema;
    this.#fields = Object.entries(properties).map(([name, property]) => ({
      name,
      property,
      isRequired: required.includes(name),
    }));
  }

  async run(): Promise<ElicitationAnswer> {
    const count = this.#fields.length;
    this.#lines.tell(
      count === 0 ? 'There is nothing to fill in.' : `Fields: ${count}. What you enter is sent to this MCP server.`,
      ...(count === 0
        ? []
        : [`At any field: :decline says no, :cancel leaves it undecided, ${SKIP} leaves a field out.`]),
    );
    if (mentionsSecret(this.#request.message) && this.#fields.some(isFreeText)) this.#lines.tell(SECRET_WARNING);
    for (const at of this.#fields.keys()) {
      const ending = await this.#askField(at);
      if (ending !== undefined) return { action: ending };
    }
    return await this.#review();
  }

  async #askField(at: number): Promise<Ending | undefined> {
    const field = this.#fields[at];
    if (field === undefined) return undefined;
    const { name, property, isRequired } = field;
    const options = optionsOf(property);
    const description = inertLine(property.description ?? '', 500);
    this.#lines.tell(
      '',
      `${at + 1} of ${this.#fields.length}: ${labelOf(name, property)}`,
      `  ${isRequired ? 'Needed' : 'May be left out'}; ${kindText(property)}.`,
      ...(description === '' ? [] : [`  It says: ${description}`]),
      ...(options === undefined ? [] : optionLines(options)),
      ...(property.default === undefined ? [] : [`  Enter takes: ${valueText(property, property.default)}`]),
      ...(looksSecret(name, property) ? [`  ${SECRET_WARNING}`] : []),
    );
    const hint = options === undefined ? '' : property.type === 'array' ? 'Numbers, with commas' : 'Number';
    for (;;) {
      const line = await this.#lines.ask(`  ${hint}> `, this.#signal);
      if (line === undefined || /^:c(?:ancel)?$/i.test(line)) return 'cancel';
      if (/^:d(?:ecline)?$/i.test(line)) return 'decline';
      const reading = readField(field, line);
      if (reading.type === 'fault') {
        this.#lines.tell(`  ${reading.text}`);
        continue;
      }
      if (reading.type === 'absent') this.#values.delete(name);
      else this.#values.set(name, reading.value);
      return undefined;
    }
  }

  async #review(): Promise<ElicitationAnswer> {
    for (;;) {
      this.#lines.tell('', 'This would be sent:', ...this.#fields.map((field, at) => this.#reviewLine(field, at)));
      const line = await this.#lines.ask(
        'Send it? s = send, e 1 = edit field 1, d = decline, c = cancel: ',
        this.#signal,
      );
      if (line === undefined || /^:?c(?:ancel)?$/i.test(line)) return { action: 'cancel' };
      if (/^:?d(?:ecline)?$/i.test(line)) return { action: 'decline' };
      if (/^s(?:end)?$/i.test(line)) {
        const parsed = parseFormContent(this.#request.requestedSchema, Object.fromEntries(this.#values));
        if (parsed.faults === undefined) return { action: 'accept', content: parsed.content };
        this.#lines.tell(...parsed.faults.map(({ path }) => `Does not fit: ${inertLine(path, 64)}`));
        continue;
      }
      const [, digits] = /^e(?:dit)? *(\d+)$/i.exec(line) ?? [];
      if (digits === undefined) continue;
      const ending = await this.#askField(Number(digits) - 1);
      if (ending !== undefined) return { action: ending };
    }
  }

  #reviewLine({ name, property }: Field, at: number): string {
    const value = this.#values.get(name);
    return `  ${at + 1}  ${labelOf(name, property)}: ${value === undefined ? '(left out)' : valueText(property, value)}`;
  }
}

const isFreeText = ({ property }: Field) => property.type === 'string' && optionsOf(property) === undefined;
