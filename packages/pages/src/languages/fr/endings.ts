import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': 'Votre réponse est en cours d’envoi',
  'working.text': 'Cela prend quelques secondes. Vous n’avez pas à répondre de nouveau.',
  'working.reload': 'Vérifier de nouveau',

  'declined.heading': 'Vous avez refusé',
  'declined.text': 'Rien n’a été communiqué à {mcpServer}.',

  'expired.heading': 'Cette demande a expiré',
  'expired.text':
    'Elle n’était ouverte que pour une durée limitée. Si vous en avez encore besoin, revenez à l’application d’où vous venez et recommencez.',

  'cancelled.heading': 'Cette demande a été retirée',
  'cancelled.text': '{mcpServer} n’a plus besoin de réponse. Vous pouvez fermer cette fenêtre.',

  'failed.heading': 'Cette demande n’a pas pu aboutir',
  'failed.text': 'Un problème est survenu en cours de route. Revenez à l’application d’où vous venez et recommencez.',

  'notFound.heading': 'Il n’y a rien ici',
  'notFound.text':
    'Le lien est peut-être incomplet ou n’est plus valable. Revenez à l’application qui vous l’a donné et demandez-en un nouveau.',

  'error.badRequest.heading': 'Impossible d’ouvrir cette page',
  'error.badRequest.text':
    'Une partie de l’adresse est manquante ou endommagée. Rouvrez le lien depuis votre application.',
  'error.forbidden.heading': 'Cette étape a été arrêtée',
  'error.forbidden.text':
    'Nous n’avons pas pu vérifier qu’elle venait de vous. Rouvrez le lien depuis votre application et utilisez les boutons de la page.',
  'error.tooManyRequests.heading': 'Trop de tentatives en peu de temps',
  'error.tooManyRequests.text': 'Patientez une minute, puis rouvrez le lien depuis votre application.',
  'error.unavailable.heading': 'Le service est momentanément indisponible',
  'error.unavailable.text': 'Patientez quelques minutes, puis rouvrez le lien depuis votre application.',
  'error.internal.heading': 'Un problème est survenu',
  'error.internal.text': 'L’erreur vient de notre côté. Rouvrez le lien depuis votre application.',
  'error.requestId': 'Si vous demandez de l’aide, indiquez ce numéro',
};
