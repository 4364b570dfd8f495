import { airtable } from './airtable.ts';
import { asana } from './asana.ts';
import { atlassian, bitbucket } from './atlassian.ts';
import { auth0 } from './auth0.ts';
import { box } from './box.ts';
import { clickup } from './clickup.ts';
import { discord } from './discord.ts';
import { docusign } from './docusign.ts';
import { dropbox } from './dropbox.ts';
import { facebook } from './facebook.ts';
import { figma } from './figma.ts';
import { github, githubApp, githubEnterprise } from './github.ts';
import { gitlab } from './gitlab.ts';
import { google } from './google.ts';
import { hubspot } from './hubspot.ts';
import { intercom, intercomAu, intercomEu } from './intercom.ts';
import { keycloak } from './keycloak.ts';
import { linear } from './linear.ts';
import { linkedin } from './linkedin.ts';
import { microsoft, microsoftEntra } from './microsoft.ts';
import { monday } from './monday.ts';
import { notion } from './notion.ts';
import { okta, oktaOrg } from './okta.ts';
import type { Preset } from './preset.ts';
import { reddit } from './reddit.ts';
import { salesforce } from './salesforce.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { spotify } from './spotify.ts';
import { stripe } from './stripe.ts';
import { twitch } from './twitch.ts';
import { x } from './x.ts';
import { zendesk } from './zendesk.ts';
import { zoom } from './zoom.ts';

/** Every preset, by name. */
export const presets: readonly Preset[] = [
  airtable,
  asana,
  atlassian,
  auth0,
  bitbucket,
  box,
  clickup,
  discord,
  docusign,
  dropbox,
  facebook,
  figma,
  github,
  githubApp,
  githubEnterprise,
  gitlab,
  google,
  hubspot,
  intercom,
  intercomAu,
  intercomEu,
  keycloak,
  linear,
  linkedin,
  microsoft,
  microsoftEntra,
  monday,
  notion,
  okta,
  oktaOrg,
  reddit,
  salesforce,
  shopify,
  slack,
  spotify,
  stripe,
  twitch,
  x,
  zendesk,
  zoom,
];
