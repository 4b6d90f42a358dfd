require 'json'
JSON.parse('{')
