import urllib2
