import type { Messages } from './en';
import type { invented as english } from './invented.en';

export const invented: Pick<Messages, keyof typeof english> = {
  inventedData: 'Erfundene Daten: Diese Demo zeigt eine Geschichte, die es nie gab.',
};
