import assert from 'node:assert/strict';
import { requestedSchemaSchema } from '@postern/api';
import { FormContentError } from '@postern/mcp';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import { typedSecrets } from '../../../support/verb-person.ts';
import { elicitationIdsOf, filledDelivery, ways } from '../../../support/verb-play.ts';
import { type SurveyedCall, surveyFirstCalls } from '../../../support/verb-survey.ts';
import { deliverySchema, takenOnce } from '../../../support/verb-tools.ts';
import type { VerbWorld } from '../../../support/verb-world.ts';
import { keyOf } from '../../../support/world.ts';
import type { Scenario } from '../scenario.ts';

const pageOnly = [...takenOnce, 'credential_lasting'] as const;
const withForms = ways.filter(way => way.showsForms);

/** Three scenarios look at the same calls. */
const surveys = new WeakMap<VerbWorld, Promise<readonly SurveyedCall[]>>();
function surveyOf(world: VerbWorld): Promise<readonly SurveyedCall[]> {
  const survey = surveys.get(world) ?? surveyFirstCalls(world, [...pageOnly, 'form']);
  surveys.set(world, survey);
  return survey;
}

const noPage = async () => assert.fail('unexpected page');

/** The mode and the content of the elicitation for a payment, a confirmation, a credential or a form. */
export const kindsAsking: readonly Scenario[] = [
  {
    id: 'url-mode:kinds:no-secret-in-form-mode',
    async run({ verbs }) {
      const calls = await surveyOf(await verbs());
      for (const { tool, connection, declared, requests, link } of calls.filter(call => call.tool !== 'form')) {
        const where = `${tool}, ${connection}, ${JSON.stringify(declared)}`;
        assert.ok(
          requests.every(({ mode }) => mode === 'url'),
          where,
        );
        // Asked in some way all the same: a page, or a link to it.
        assert.equal(requests.length + (link === undefined ? 0 : 1), 1, where);
      }
    },
  },
  {
    id: 'url-mode:kinds:declared-modes-only',
    async run({ verbs }) {
      for (const { tool, connection, declared, requests } of await surveyOf(await verbs())) {
        const isEmpty = declared !== undefined && Object.keys(declared).length === 0;
        const modes = isEmpty ? ['form'] : Object.keys(declared ?? {});
        const undeclared = requests.filter(({ mode }) => !modes.includes(mode));
        assert.deepEqual(undeclared, [], `${tool}, ${connection}, ${JSON.stringify(declared)}`);
      }
    },
  },
  {
    id: 'url-mode:kinds:restricted-schema',
    async run({ verbs }) {
      const forms = (await surveyOf(await verbs())).flatMap(({ requests }) =>
        requests.filter(({ mode }) => mode === 'form'),
      );
      assert.notEqual(forms.length, 0);
      for (const { params } of forms) {
        assert.deepEqual(Object.keys(params).sort(), ['message', 'mode', 'requestedSchema']);
        const schema = requestedSchemaSchema.parse(params['requestedSchema']);
        assert.deepEqual(Object.keys(schema.properties), Object.keys(deliverySchema.shape));
      }
    },
  },
  {
    id: 'url-mode:kinds:opaque-url',
    async run({ verbs }) {
      const world = await verbs();
      const calls = await surveyOf(world);
      const urls = calls.flatMap(({ requests, link }) => [
        ...requests.flatMap(({ params }) => (params['url'] === undefined ? [] : [String(params['url'])])),
        ...(link === undefined ? [] : [link]),
      ]);
      assert.notEqual(urls.length, 0);
      for (const url of urls) assert.match(url.slice(world.publicUrl.length), /^\/e\/el_[0-9a-f]{2}[A-Za-z0-9_-]{43}$/);
      assert.equal(new Set(urls.map(elicitationIdOf)).size, urls.length);
    },
  },
  {
    id: 'url-mode:kinds:form-answers',
    async run({ verbs }) {
      const world = await verbs();
      for (const way of withForms) {
        const person = world.person();
        const player = await world.player(way, person);
        const { given } = await world.endpoint(way.endpoint);
        const order = world.order();
        for (const [action, text] of [
          ['decline', 'decline declined'],
          ['cancel', 'cancel cancelled'],
        ] as const) {
          const played = await player.play('form', { order }, { atPage: noPage, fillForm: () => ({ action }) });
          assert.equal(played.text, text, way.name);
        }
        const played = await player.play('form', { order }, { atPage: noPage, fillForm: () => filledDelivery });
        assert.equal(played.text, 'accept', way.name);
        const [{ what = {} } = {}, ...others] = given.filter(one => one.order === order);
        assert.deepEqual(what['content'], { ...filledDelivery.content, express: false }, way.name);
        assert.equal(what['by'], 'mcp-client');
        assert.deepEqual(others, []);
      }
    },
  },
  {
    id: 'url-mode:kinds:form-answers-are-validated',
    async run({ verbs }) {
      const world = await verbs();
      const misfits: readonly Record<string, string | number | boolean>[] = [
        { name: 'Alice', parcels: 12, size: 'large' },
        { name: 'Alice', parcels: 2, size: 'huge' },
        { name: 'Alice', parcels: 2, size: 'large', admin: true },
        { name: 'Alice' },
      ];
      const { code } = new FormContentError([]);
      for (const way of withForms) {
        const player = await world.player(way, world.person());
        const { given } = await world.endpoint(way.endpoint);
        for (const content of misfits) {
          const order = world.order();
          const misfit = { action: 'accept', content } as const;
          const refused = await player.play('form', { order }, { atPage: noPage, fillForm: () => misfit });
          assert.equal(refused.text, `error ${code}`, way.name);
          assert.deepEqual(
            refused.reached.map(({ by }) => by),
            ['form', 'form'],
          );
          assert.deepEqual(
            given.filter(one => one.order === order),
            [],
          );
          const answers = [misfit, filledDelivery];
          const fillForm = () => answers.shift() ?? filledDelivery;
          const corrected = await player.play('form', { order: world.order() }, { atPage: noPage, fillForm });
          assert.equal(corrected.text, 'accept', way.name);
        }
      }
    },
  },
  {
    id: 'url-mode:kinds:secrets-stay-out',
    async run({ verbs }) {
      const world = await verbs();
      const { stripe } = world;
      const secrets = [...typedSecrets, keyOf('tracker'), stripe.secretKey, ...stripe.webhookSecrets];
      for (const way of ways) {
        const person = world.person();
        const player = await world.player(way, person);
        for (const tool of pageOnly) {
          const played = await player.play(tool, { order: world.order() }, { atPage: person.accept });
          assert.equal(played.text, 'accept', `${tool}, ${way.name}`);
          assert.equal(elicitationIdsOf(played).length, 1);
        }
        const { given } = await world.endpoint(way.endpoint);
        // The handlers did get them.
        for (const secret of typedSecrets) assert.ok(JSON.stringify(given).includes(secret));
        for (const secret of secrets) assert.ok(!player.host.frames.some(frame => frame.includes(secret)), way.name);
      }
    },
  },
];
